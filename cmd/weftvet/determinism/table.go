package determinism

import (
	"go/types"
	"strings"
)

// forbidden says why workflow code must not use a function or a variable.
type forbidden struct {
	rule, instead string
	// local means that it is not followed into other modules.
	local bool
}

const (
	useActivity = "do it in an activity, whose result is recorded"
	useLogger   = "use workflow.Logger, which is silent on replay"
	useTimer    = "use workflow.NewTimer, or workflow.OnTimeout in a workflow.Select"
	useRandom   = "use workflow.Random, which draws the same again on replay"
	useNewID    = "use workflow.NewID, which is the same on replay"
	useGo       = "use workflow.Go, whose order is the same on replay"
	useInput    = "hand it in as input, or get it from an activity"
	useLocks    = "use workflow.Mutex, which waits with the workflow"
	useUTC      = "times in UTC are the same on every machine"
)

// table has the names of the standard library and of well-known modules that workflow code must not
// use. A name is path.Func, path.Type.Method or path.Var; path.* is all of a package, path.Type.*
// all methods of a type.
var table = index([]group{
	{forbidden{Time, "use workflow.Now, which is the same on replay", false}, `time.Now`},
	{forbidden{Time, "subtract from workflow.Now, which is the same on replay", false}, `time.Since time.Until`},
	{forbidden{Time, "use workflow.Sleep, which outlives the process", false}, `time.Sleep`},
	{forbidden{Time, useTimer, false}, `time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker`},
	{
		forbidden{Time, useTimer, true},
		`context.WithTimeout context.WithTimeoutCause context.WithDeadline context.WithDeadlineCause`,
	},

	{forbidden{Random, useRandom, false}, `math/rand.* math/rand/v2.* crypto/rand.*`},
	{forbidden{Random, useRandom, true}, `hash/maphash.MakeSeed hash/maphash.Hash.*`},
	{
		forbidden{Random, useNewID, false},
		`github.com/google/uuid.New github.com/google/uuid.NewString github.com/google/uuid.NewRandom github.com/google/uuid.NewUUID
		github.com/google/uuid.NewV6 github.com/google/uuid.NewV7 github.com/google/uuid.NewDCEGroup github.com/google/uuid.NewDCEPerson
		github.com/google/uuid.NewDCESecurity
		github.com/gofrs/uuid.NewV1 github.com/gofrs/uuid.NewV4 github.com/gofrs/uuid.NewV6 github.com/gofrs/uuid.NewV7
		github.com/gofrs/uuid/v5.NewV1 github.com/gofrs/uuid/v5.NewV4 github.com/gofrs/uuid/v5.NewV6 github.com/gofrs/uuid/v5.NewV7
		github.com/satori/go.uuid.NewV1 github.com/satori/go.uuid.NewV4 github.com/hashicorp/go-uuid.GenerateUUID
		github.com/oklog/ulid.Now github.com/oklog/ulid/v2.Now github.com/oklog/ulid/v2.Make github.com/rs/xid.New
		github.com/segmentio/ksuid.New github.com/segmentio/ksuid.NewRandom github.com/matoous/go-nanoid/v2.New
		github.com/matoous/go-nanoid/v2.Generate github.com/lucsky/cuid.New`,
	},

	{forbidden{Goroutine, useGo, false}, `sync.WaitGroup.Go context.AfterFunc`},
	{forbidden{Goroutine, useGo, false}, `golang.org/x/sync/errgroup.Group.Go golang.org/x/sync/errgroup.Group.TryGo`},

	{
		forbidden{Channel, useLocks, true},
		`sync.Mutex.Lock sync.Mutex.TryLock sync.RWMutex.Lock sync.RWMutex.TryLock sync.RWMutex.RLock sync.RWMutex.TryRLock
		sync.Locker.Lock`,
	},
	{forbidden{Channel, "use workflow.WaitGroup, which waits with the workflow", true}, `sync.WaitGroup.Wait`},
	{forbidden{Channel, "use workflow.Await, which waits with the workflow", true}, `sync.Cond.Wait`},
	{
		forbidden{Channel, "use workflow.Semaphore, which waits with the workflow", true},
		`golang.org/x/sync/semaphore.Weighted.Acquire golang.org/x/sync/semaphore.Weighted.TryAcquire`,
	},

	{forbidden{MapOrder, "go through sorted keys", true}, `sync.Map.Range`},

	{
		forbidden{IO, useActivity, false},
		`os.* os/exec.* os/signal.* os/user.* syscall.* net/rpc.* net/smtp.* database/sql.* plugin.Open
		io/ioutil.ReadFile io/ioutil.WriteFile io/ioutil.ReadDir io/ioutil.TempFile io/ioutil.TempDir
		path/filepath.Abs path/filepath.EvalSymlinks path/filepath.Glob path/filepath.Walk path/filepath.WalkDir
		net.Dial net.DialTimeout net.DialIP net.DialTCP net.DialUDP net.DialUnix net.Dialer.* net.Listen net.ListenConfig.*
		net.ListenIP net.ListenTCP net.ListenUDP net.ListenUnix net.ListenPacket net.ListenMulticastUDP net.ListenUnixgram
		net.Conn.* net.PacketConn.* net.Listener.* net.TCPConn.* net.UDPConn.* net.UnixConn.* net.IPConn.* net.Resolver.*
		net.LookupAddr net.LookupCNAME net.LookupHost net.LookupIP net.LookupMX net.LookupNS net.LookupPort net.LookupSRV net.LookupTXT
		net.Interfaces net.InterfaceAddrs net.InterfaceByIndex net.InterfaceByName
		net.ResolveIPAddr net.ResolveTCPAddr net.ResolveUDPAddr net.ResolveUnixAddr
		net/http.Get net/http.Head net/http.Post net/http.PostForm net/http.Client.* net/http.Transport.* net/http.RoundTripper.*
		net/http.Server.* net/http.Serve net/http.ServeTLS net/http.ListenAndServe net/http.ListenAndServeTLS
		net/http.DefaultClient net/http.DefaultTransport
		crypto/tls.Dial crypto/tls.DialWithDialer crypto/tls.Dialer.* crypto/tls.Listen crypto/tls.LoadX509KeyPair
		crypto/x509.SystemCertPool archive/zip.OpenReader mime.TypeByExtension mime.ExtensionsByType
		text/template.ParseFiles text/template.ParseGlob text/template.Template.ParseFiles text/template.Template.ParseGlob
		html/template.ParseFiles html/template.ParseGlob html/template.Template.ParseFiles html/template.Template.ParseGlob`,
	},
	{forbidden{IO, useActivity, false}, `fmt.Scan fmt.Scanf fmt.Scanln`},
	{forbidden{IO, useInput, true}, `flag.*`},
	{
		forbidden{IO, useLogger, true},
		`fmt.Print fmt.Printf fmt.Println log.* log/slog.Debug log/slog.DebugContext log/slog.Info log/slog.InfoContext log/slog.Warn
		log/slog.WarnContext log/slog.Error log/slog.ErrorContext log/slog.Log log/slog.LogAttrs log/slog.Default log/slog.SetDefault
		log/slog.With`,
	},
	{
		forbidden{IO, "what needs a context.Context is for an activity, which gets one", true},
		`context.Background context.TODO`,
	},

	{
		forbidden{Runtime, useInput, true},
		`runtime.NumCPU runtime.NumGoroutine runtime.NumCgoCall runtime.GOMAXPROCS runtime.Caller runtime.Callers runtime.Stack runtime.GC
		runtime.ReadMemStats runtime.Gosched runtime.Version runtime.GOROOT runtime/debug.* runtime/metrics.* runtime/pprof.*
		runtime/trace.* reflect.Value.Pointer reflect.Value.UnsafePointer reflect.Value.UnsafeAddr`,
	},
	{forbidden{Runtime, useUTC, true}, `time.Local time.Time.Local time.LoadLocation`},
})

// allowed has names that the stars of the table do not include.
var allowed = names(`math/rand.New math/rand.NewSource math/rand.NewZipf math/rand/v2.New math/rand/v2.NewPCG math/rand/v2.NewChaCha8
	math/rand/v2.NewZipf math/rand.Rand.* math/rand.Zipf.* math/rand.Source.* math/rand.Source64.* math/rand/v2.Rand.* math/rand/v2.Zipf.*
	math/rand/v2.Source.* math/rand/v2.PCG.* math/rand/v2.ChaCha8.*
	os.IsNotExist os.IsExist os.IsPermission os.IsTimeout os.IsPathSeparator os.Expand os.NewSyscallError os.SyscallError.*
	os.ErrInvalid os.ErrPermission os.ErrExist os.ErrNotExist os.ErrClosed os.ErrDeadlineExceeded os.ErrProcessDone os.ErrNoDeadline
	os.Signal.* os.Interrupt os.Kill
	os/exec.Error.* os/exec.ErrNotFound os/exec.ErrDot os/exec.ExitError.* syscall.Errno.* syscall.Signal.*
	database/sql.Named database/sql.ErrNoRows database/sql.ErrTxDone database/sql.ErrConnDone
	database/sql.NullString.* database/sql.NullInt64.* database/sql.NullInt32.* database/sql.NullInt16.* database/sql.NullByte.*
	database/sql.NullFloat64.* database/sql.NullBool.* database/sql.NullTime.* database/sql.Null.* database/sql.IsolationLevel.*
	log.Default log.New`)

// group has the names that are forbidden for one reason, separated by spaces.
type group struct {
	why   forbidden
	names string
}

func index(groups []group) map[string]forbidden {
	all := map[string]forbidden{}
	for _, g := range groups {
		for name := range names(g.names) {
			all[name] = g.why
		}
	}
	return all
}

func names(list string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		all[name] = true
	}
	return all
}

// lookUp reports whether a function or a package-level variable is forbidden, and why.
func lookUp(o types.Object) (why forbidden, ok bool) {
	name := fullName(o)
	for _, n := range spellings(o, name) {
		if allowed[n] {
			return why, false
		}
		if why, ok = table[n]; ok {
			return why, true
		}
	}
	return why, false
}

// spellings returns the names that an object may have in the table, the closest first.
func spellings(o types.Object, name string) []string {
	all := []string{name}
	if local := localName(o); local != o.Name() {
		all = append(all, strings.TrimSuffix(name, o.Name())+"*")
	}
	return append(all, o.Pkg().Path()+".*")
}
