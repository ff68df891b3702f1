package simulation

import "time"

const (
	// quietPeriod is longer than the longest back-off of the operator, and than any time limit in a manifest.
	quietPeriod = 5*time.Minute + 20*time.Second
	// stays is for how much longer nothing may be written; longStays applies in every twenty-fifth schedule.
	stays, longStays = time.Minute, time.Hour
	// patience is the time, and patientSteps the number of steps, within which a fair model must come to rest.
	patience, patientSteps = 3 * time.Hour, 3000
)

// fair ends all faults: one process runs, every request is served, every event is delivered, pods run, and users change nothing.
// The job must come to rest in the state that its spec requires, and stay there.
func (s *schedule) fair() {
	s.note("from now on all is fair")
	s.mu.Lock()
	s.gate.fair = true
	s.mu.Unlock()
	for len(s.running) > 1 {
		s.crash(s.running[0])
	}
	if len(s.running) == 0 {
		s.start()
	}
	s.user.leave()
	if s.rng.IntN(2) == 0 && s.user.broken != "" && s.user.job() != nil {
		s.user.repair()
	}
	s.pass(time.Second)
	if !s.rest(quietPeriod) {
		s.violated("the model does not come to rest")
		return
	}
	s.judgeRest()
	longer := stays
	if s.Seed%25 == 0 {
		longer = longStays
	}
	before := s.model.Version()
	s.note("it must stay so for %s", longer)
	if !s.rest(longer) || s.model.Version() != before {
		s.violated("after it had come to rest, something was written")
	}
}

// rest runs the fair model until nothing has been committed for some time.
func (s *schedule) rest(quiet time.Duration) bool {
	begin, last, version := time.Now(), time.Now(), s.model.Version()
	for steps := 0; steps < patientSteps && time.Since(begin) < patience; steps++ {
		s.settle()
		acted := s.fairStep()
		if now := s.model.Version(); now != version {
			last, version = time.Now(), now
		}
		if acted {
			continue
		}
		left := quiet - time.Since(last)
		if left <= 0 {
			return true
		}
		if late := s.missing(); late > 0 {
			time.Sleep(min(late, left))
			continue
		}
		timer := time.NewTimer(left)
		select {
		case <-s.arrived:
		case <-timer.C:
		}
		timer.Stop()
	}
	return false
}

// fairStep does the next thing that is due, and reports whether there was one.
func (s *schedule) fairStep() bool {
	if requests := s.requests(); len(requests) > 0 {
		q := requests[0]
		if q.answer != nil {
			s.note("answer %s", short(q))
			s.reply(q, *q.answer, nil)
		} else {
			s.reply(q, s.serve(q, false), nil)
		}
		return true
	}
	for _, w := range s.open() {
		if next, some := s.next(w); some {
			s.deliver(w, next)
			return true
		}
	}
	for _, p := range s.pods() {
		switch {
		case p.deleting:
			s.gone(p)
		case p.phase == "Pending":
			s.runs(p, 0)
		case p.phase == "Running" && s.profile.ends:
			s.ends(p, "Succeeded", 0)
		default:
			continue
		}
		return true
	}
	for _, step := range s.model.Collect() {
		s.note("collector: %s", step.What)
		step.Do()
		return true
	}
	return false
}
