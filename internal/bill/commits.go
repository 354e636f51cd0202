package bill

import "math"

// commits are n commits of a run that have bytes each. The first reads of them follow a read of all
// commits before.
type commits struct {
	n, bytes, reads  float64
	opening, closing bool // they open the run, and close it
}

// kind is a kind of commit: what a run gets n times, one after the other.
type kind struct {
	n, bytes, payloads float64
	// lead is what the commit before has besides: the start of a timer or an activity.
	lead, leadPayloads float64
	reads              float64
}

// commitsOf returns the commits of a run in the order of Workload: the first one, and each kind
// that there is. The last one of them closes the run. If a number is below 1, only a part of the
// runs has that kind. steps are the activities that a message brings.
func commitsOf(w Workload, s Settings, steps float64) (all []commits) {
	kinds := []kind{
		{n: 1, bytes: firstBytes, payloads: 1, reads: 1},
		{n: w.Signals, bytes: signalBytes, payloads: 1, reads: w.Signals},
		{n: w.Updates, bytes: updateBytes, payloads: 2, reads: w.Updates},
		{n: w.Timers, bytes: timerBytes, lead: startTimerBytes, reads: w.Timers},
		{n: w.Activities, bytes: resultBytes, payloads: 1, lead: startActivityBytes, leadPayloads: 1, reads: steps},
	}
	listed := 0.0
	if s.List {
		listed = listedBytes
	}
	for i, k := range kinds {
		add := func(n, bytes, payloads float64, closing bool) {
			if i == 0 {
				bytes += listed
			}
			reads := min(k.reads, n)
			k.reads -= reads
			all = append(all, commits{n, k.bytes + bytes + (k.payloads+payloads)*float64(w.Bytes), reads, i == 0, closing})
		}
		last := min(k.n, 1)
		if k.n > last {
			add(k.n-last, k.lead, k.leadPayloads, false)
		}
		for _, next := range kinds[i+1:] {
			if leads := last * min(next.n, 1); leads > 0 {
				add(leads, next.lead, next.leadPayloads, false)
				last -= leads
			}
		}
		switch {
		case last > 0 && i == 0:
			add(last, closedAtOnce, 1, true)
		case last > 0:
			add(last, endBytes+listed, 1, true)
		}
	}
	return all
}

// unitsOfReads returns the units of all reads of a run. Those that do not belong to a commit are
// spread evenly over the life of the run.
func unitsOfReads(all []commits, reads float64) (sum float64) {
	before, n, throughout := 0.0, 0.0, 0.0
	for _, of := range all {
		sum += of.unitsRead(before, of.reads)
		throughout += of.unitsRead(before, of.n)
		before += of.n * of.bytes
		n += of.n
		reads -= of.reads
	}
	return sum + reads*throughout/n
}

// unitsRead returns the units of a read before each of the first reads commits, if so many bytes
// are before all of them.
func (of commits) unitsRead(before, reads float64) (sum float64) {
	const most = 1000 // of the moments that are looked at
	moments := math.Ceil(min(reads, most))
	for i := range int(moments) {
		sum += pages(before + math.Floor((float64(i)+0.5)*reads/moments)*of.bytes)
	}
	return sum * reads / max(moments, 1)
}

// pages returns the read units of a read that finds so many bytes.
func pages(bytes float64) float64 { return max(1, math.Ceil(bytes/4096)) }
