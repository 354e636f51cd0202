// Command weft runs the local server with the example workflows, and shows and steers what a
// deployment of Weft does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// commands are the command line.
type commands struct {
	List     listCommand     `cmd:"" group:"Look" help:"List runs, those started last first: weft list \"ExecutionStatus = 'Running' AND Region = 'eu'\"."`
	Count    countCommand    `cmd:"" group:"Look" help:"Count runs: weft count \"WorkflowType = 'order'\" --by ExecutionStatus."`
	Describe describeCommand `cmd:"" group:"Look" help:"Describe a run, and what it waits for."`
	Runs     runsCommand     `cmd:"" group:"Look" help:"List the runs of a workflow, the latest first: how each began and closed, and which one follows: weft runs cart-42."`
	Cost     costCommand     `cmd:"" group:"Look" help:"Say what a run has cost on AWS, what closed runs have together, or what a month would cost: weft cost --runs 1e6 --updates 10."`
	History  historyCommand  `cmd:"" group:"Look" help:"Print the history of a run, also for weftest.Replay: weft history cart-42 > cart-42.json."`
	Watch    watchCommand    `cmd:"" group:"Look" help:"Print the events of a run as they come, until it has closed."`
	Topics   topicsCommand   `cmd:"" group:"Look" help:"List the topics on which a run publishes, or print the items of one: weft topics agent-1 progress --follow."`
	Result   resultCommand   `cmd:"" group:"Look" help:"Wait until a run has closed, and print its result."`
	Types    typesCommand    `cmd:"" group:"Look" help:"List the types of workflows and activities of the program, or print what one takes and returns: weft types cart."`
	Builds   buildsCommand   `cmd:"" group:"Look" help:"List the builds, with how many open runs each has."`
	Queue    queueCommand    `cmd:"" group:"Look" help:"Look at the queues."`
	Query    queryCommand    `cmd:"" group:"Look" help:"Ask a run something, and print the answer."`
	UI       uiCommand       `cmd:"" name:"ui" group:"Look" help:"Serve the web page on this machine for a deployment, with your authorization: weft ui --profile prod."`
	Doctor   doctorCommand   `cmd:"" group:"Look" help:"Check a deployment from end to end, and say what to do: weft doctor --stack shop."`

	Start     startCommand    `cmd:"" group:"Steer" help:"Start a run: weft start cart --id cart-42 -d '{\"owner\":\"ada\"}'."`
	Update    updateCommand   `cmd:"" group:"Steer" help:"Send updates, wait for them, and fail those that cannot complete."`
	Signal    signalCommand   `cmd:"" group:"Steer" help:"Send a signal: weft signal cart-42 note -d '\"as a present, please\"'."`
	Cancel    cancelCommand   `cmd:"" group:"Steer" help:"Ask a run to end by canceling the context of its code."`
	Terminate terminate       `cmd:"" group:"Steer" help:"End a run at once, without running its code."`
	Pause     pauseCommand    `cmd:"" group:"Steer" help:"Pause a run: its code does not run until it is resumed."`
	Resume    resumeCommand   `cmd:"" group:"Steer" help:"Resume a paused run."`
	Retry     retryCommand    `cmd:"" group:"Steer" help:"Retry the failed task of a stuck run now."`
	Reset     resetCommand    `cmd:"" group:"Steer" help:"Start a run that continues from an earlier task of the latest one: weft reset cart-42 --to lastTask."`
	Move      moveCommand     `cmd:"" group:"Steer" help:"Assign a run to another build."`
	Delete    deleteCommand   `cmd:"" group:"Steer" help:"Delete a closed run, with its history and result."`
	Batch     batchCommand    `cmd:"" group:"Steer" help:"Cancel, terminate, signal, reset, delete, retry, pause, resume or move all runs that a filter selects."`
	Activity  activityCommand `cmd:"" group:"Steer" help:"Retry activities now, complete them and fail them by hand."`
	Dead      deadCommand     `cmd:"" group:"Steer" help:"Look at messages that were received too often, and move them back."`
	Webhook   webhookCommand  `cmd:"" group:"Steer" help:"Print the secret of a receiver of notifications."`
	Schedule  scheduleCommand `cmd:"" group:"Steer" help:"Create schedules and change them, look at them, pause them, trigger them, and delete them."`

	Dev  dev  `cmd:"" group:"Develop" help:"Run the local server with the example workflows."`
	Demo demo `cmd:"" group:"Develop" help:"Play a shopping cart through against a server of its own, and show what each step costs."`

	Init     initCommand     `cmd:"" group:"Develop" help:"Write a program with a workflow and its test, to begin with: weft init show."`
	Contract contractCommand `cmd:"" group:"Develop" help:"Write the contract of a program, and compare contracts."`
	Generate generateCommand `cmd:"" group:"Develop" help:"Write a typed client of the program: weft generate typescript --from contract.json --out shop.ts."`
	Check    check           `cmd:"" group:"Develop" help:"Check whether a program can continue the open runs of a deployment, or a data directory for damage: weft check --stack shop -- go run ./cmd/shop."`
	Template template        `cmd:"" group:"Develop" help:"Print what deploys a program to AWS."`
	Rollout  rolloutCommand  `cmd:"" group:"Develop" help:"Move a Terraform deployment on AWS to its new build step by step, and back if an alarm begins: weft rollout --name shop."`
	Protect  protectCommand  `cmd:"" group:"Develop" help:"Protect a stack on AWS from deletion: weft protect --stack shop."`

	Backup  backup  `cmd:"" group:"Data directory" help:"Back a data directory up into a file, also while a server runs: weft backup weft.backup."`
	Restore restore `cmd:"" group:"Data directory" help:"Make a data directory of a backup: weft restore --from weft.backup --data .weft."`
	Compact compact `cmd:"" group:"Data directory" help:"Make a data directory as small as it gets while no server runs: weft compact --data .weft."`

	Help       helpCommand       `cmd:"" group:"This command" help:"Print the help of a command: weft help schedule create."`
	Version    versionCommand    `cmd:"" group:"This command" help:"Print the version of this command."`
	Completion completionCommand `cmd:"" group:"This command" help:"Print a script that completes commands, flags and values: source <(weft completion bash)."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"Print values for the script of weft completion."`
}

// helpCommand prints the help of a command. execute puts --help in its place.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command."`
}

// Run does nothing: execute does not call it.
func (helpCommand) Run() error { return nil }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, cli.Process(), os.Args[1:])
	stop()
	os.Exit(int(code))
}

// run runs a command line and returns its exit code. An error is the last line of s.Err.
func run(ctx context.Context, s *cli.Session, args []string) cli.Code {
	err := execute(ctx, s, args)
	if err != nil {
		s.Status("")
		_, _ = fmt.Fprintln(s.Err, cli.Text(err)) // there is nowhere else to report it
	}
	return cli.CodeOf(err)
}

// execute runs a command line. Without arguments it prints the help.
func execute(ctx context.Context, s *cli.Session, args []string) error {
	helped := false
	k, err := parser(s, func(int) { helped = true })
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		args[0] = "version"
	}
	parsed, err := k.Parse(args)
	switch parse := (*kong.ParseError)(nil); {
	case helped:
		return nil
	case errors.As(err, &parse):
		text := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1) // the default of a flag that may be left out
		return cli.Errorf(cli.Usage, "%s; see %s --help", text, strings.TrimSpace("weft "+commandOf(parse.Context)))
	case err != nil:
		return err
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run(s)
}

// commandOf returns the commands of a command line, without their arguments.
func commandOf(c *kong.Context) string {
	var names []string
	for _, p := range c.Path {
		if p.Command != nil {
			names = append(names, p.Command.Name)
		}
	}
	return strings.Join(names, " ")
}

// parser returns the parser of the command line. It calls exit after it has printed help.
func parser(s *cli.Session, exit func(int)) (*kong.Kong, error) {
	k, err := kong.New(&commands{}, kong.Name("weft"), kong.Description("Durable workflows without servers."), kong.Exit(exit), kong.Writers(s, s.Err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: helpWidth}), cli.Vars)
	if err != nil {
		return nil, err
	}
	for _, command := range k.Model.Leaves(false) {
		explainTimeout(command)
	}
	return k, nil
}

// mayWait is a command that waits with some flags, and not with others.
type mayWait interface {
	// timeoutHelp says what its time-out is without --timeout.
	timeoutHelp() string
}

// explainTimeout sets the help of --timeout of a command that may wait.
func explainTimeout(command *kong.Node) {
	waits, ok := command.Target.Addr().Interface().(mayWait)
	if !ok {
		return
	}
	for _, f := range command.Flags {
		if f.Name == "timeout" {
			f.PlaceHolder, f.Help = "DURATION", "How long the command may take; "+waits.timeoutHelp()+" 0s is for ever."
		}
	}
}

// helpWidth is the longest line of help, in columns.
const helpWidth = 120
