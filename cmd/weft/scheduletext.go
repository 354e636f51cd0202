package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// scheduleText prints the description of a schedule for people. resume is the command that resumes
// its workflow.
func scheduleText(s *cli.Session, known describedSchedule, resume string) error {
	schedule, page := known.Schedule, cli.NewPage(s)
	page.Styled("schedule", cli.Cell{Text: known.ScheduleID, Style: cli.Bold})
	if p := known.WorkflowPaused; p != nil {
		page.Styled("held", cli.Cell{Text: "it starts no runs: its workflow is paused since " + moment(p.Since) + reasonText(p.Reason), Style: cli.Warn})
		page.Field("go on with", resume)
	}
	page.Field("starts", schedule.Action.Type)
	page.Field("input", string(schedule.Action.Input))
	page.Field("cron", strings.Join(schedule.Spec.Cron, "; "))
	for _, i := range schedule.Spec.Intervals {
		page.Field("every", intervalText(time.Duration(i.Every), time.Duration(i.Offset)))
	}
	page.Field("time zone", schedule.Spec.TimeZone)
	page.Field("first", momentOf(schedule.Spec.StartAt))
	page.Field("last", momentOf(schedule.Spec.EndAt))
	page.Field("overlap", string(cmp.Or(schedule.Overlap, "skip")))
	if schedule.Paused {
		page.Styled("paused", cli.Cell{Text: cmp.Or(schedule.Note, "yes"), Style: cli.Warn})
	} else {
		page.Field("note", schedule.Note)
	}
	page.Field("started", itoa(int64(known.Started)))
	page.Field("skipped", numberUnlessZero(known.Skipped))
	page.Field("missed", numberUnlessZero(known.Missed))
	var next [][]cli.Cell
	for _, at := range known.NextAt {
		next = append(next, []cli.Cell{{Text: moment(at)}})
	}
	page.Table("Next", []cli.Column{{Name: "AT"}}, next)
	for _, part := range []struct {
		title string
		runs  []client.ScheduledRun
	}{{"Running", known.Running}, {"Buffered", known.Buffered}, {"Recent", known.Recent}} {
		page.Table(part.title, scheduledColumns, scheduledRows(part.runs))
	}
	return page.Print()
}

// intervalText returns an interval with its offset, as "24h + 6h".
func intervalText(every, offset time.Duration) string {
	text := shortText(every)
	if offset != 0 {
		text += " + " + shortText(offset)
	}
	return text
}

// shortText returns a duration without the minutes and seconds that it does not have, as "24h" or
// "1h30m".
func shortText(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

func numberUnlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(int64(n))
}

// momentOf is moment of a time that may be absent.
func momentOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return moment(*at)
}

var scheduledColumns = []cli.Column{{Name: "AT"}, {Name: "WORKFLOW", Least: 12}, {Name: "STATUS"}, {Name: "FAILURE", Least: 10}}

func scheduledRows(runs []client.ScheduledRun) (rows [][]cli.Cell) {
	for _, run := range runs {
		failed := ""
		if run.Failure != nil {
			failed = run.Failure.Err().Error()
		}
		rows = append(rows, []cli.Cell{{Text: moment(run.At)}, {Text: run.WorkflowID, Style: cli.Bold}, statusCell(run.Status), {Text: failed}})
	}
	return rows
}
