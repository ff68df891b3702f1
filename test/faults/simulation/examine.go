package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	"stoic/training"
)

// examine checks that the model, now at rest, is in the state that the job requires.
//
//	the job           its children                                   its status
//	is deleted        none that name it as their owner               -
//	is malformed      as they were                                   Stalled, and an event with the path
//	is over           as cleanPodPolicy says                         a terminal condition that some pod, or a limit, justifies
//	is suspended      none                                           Suspended, not Running
//	else              one live pod and one service for each replica, not Suspended; Running if its pods do; the counts
func (s *schedule) examine() {
	j := s.mirror.job()
	for name, p := range s.mirror.pods {
		if p.owner != "" && (j.gone || p.owner != j.uid) {
			s.violated("at rest: pod %s belongs to a job that is gone", name)
		}
	}
	for name, c := range s.mirror.services {
		if c.owner != "" && (j.gone || c.owner != j.uid) {
			s.violated("at rest: service %s belongs to a job that is gone", name)
		}
	}
	for name, c := range s.mirror.dependents {
		if c.owner != "" && (j.gone || c.owner != j.uid) {
			s.violated("at rest: %s belongs to a job that is gone", name)
		}
	}
	switch terminal := j.status.terminal(); {
	case j.gone:
	case j.deleting:
		s.violated("at rest: the job is still being deleted")
	case j.broken != "":
		s.examineBroken(j)
	case terminal != "":
		s.examineOver(j, terminal)
	case j.suspend:
		s.examineSuspended(j)
	default:
		s.examineRunning(j)
	}
}

func (s *schedule) examineBroken(j *jobVersion) {
	if !j.status.is("Stalled") {
		s.violated("at rest: the spec is wrong at %s and the job is not Stalled", j.broken)
	}
	for _, e := range s.mirror.events {
		if e.UID == j.uid && e.FieldPath == j.broken && e.Type == "Warning" {
			return
		}
	}
	s.violated("at rest: no event tells that the spec is wrong at %s", j.broken)
}

// mine returns the children of the job, by name.
func (s *schedule) mine(j *jobVersion) (pods map[string]*pod, services map[string]bool) {
	pods, services = map[string]*pod{}, map[string]bool{}
	for name, p := range s.mirror.pods {
		if p.owner == j.uid {
			pods[name] = p
		}
	}
	for name, c := range s.mirror.services {
		if c.owner == j.uid {
			services[name] = true
		}
	}
	return pods, services
}

func (s *schedule) examineOver(j *jobVersion, terminal string) {
	pods, services := s.mine(j)
	for name, p := range pods {
		if j.clean == "All" || j.clean == "Running" && !p.over() {
			s.violated("at rest: the job is over, cleanPodPolicy is %s, and pod %s is there (%s)", j.clean, name, p.phase)
		}
	}
	for name := range services {
		if j.clean == "All" || j.clean == "Running" && pods[name] == nil {
			s.violated("at rest: the job is over, cleanPodPolicy is %s, and service %s is there", j.clean, name)
		}
	}
	if j.status.Completion == "" {
		s.violated("at rest: the job is over and has no completionTime")
	}
	if j.status.is("Running") || j.status.is("Restarting") {
		s.violated("at rest: the job is over and says that it is Running or Restarting")
	}
	if s.manifest.ttl != nil && !j.suspend {
		s.violated("at rest: the job is over and its time to live has passed")
	}
	for rtype, n := range j.status.Replicas {
		if n.Active != 0 {
			s.violated("at rest: the job is over and %d replicas of %s are active", n.Active, rtype)
		}
	}
	s.examineTerminal(j, terminal)
}

// examineTerminal checks that something that has happened justifies the terminal condition.
func (s *schedule) examineTerminal(j *jobVersion, terminal string) {
	of := s.mirror.failed
	switch {
	case terminal == "Succeeded":
		of = s.mirror.succeeded
	case s.manifest.deadline != nil, s.manifest.backoff != nil, s.user.tampered:
		return // a terminal condition without any trace left is restored as Failed
	}
	for key := range of {
		if strings.HasPrefix(key, j.uid+"/") {
			return
		}
	}
	s.violated("at rest: the job is said to have %s, and no pod ever has", terminal)
}

func (s *schedule) examineSuspended(j *jobVersion) {
	pods, services := s.mine(j)
	if len(pods)+len(services) > 0 {
		s.violated("at rest: the job is suspended and has %d pods and %d services", len(pods), len(services))
	}
	if !j.status.is("Suspended") || j.status.is("Running") {
		s.violated("at rest: the job is suspended and its status says otherwise")
	}
}

func (s *schedule) examineRunning(j *jobVersion) {
	pods, services := s.mine(j)
	if s.manifest.deadline != nil && !s.user.postponed {
		s.violated("at rest: the deadline has passed and the job is not over")
	}
	wanted := map[string]bool{}
	for _, r := range s.manifest.rtypes {
		for i := range r.replicas {
			name := s.manifest.pod(&r, i)
			wanted[name] = true
			switch p := pods[name]; {
			case p == nil && (s.taken(j, s.mirror.pods[name] != nil) || s.done(j, r.label, i) || r.after && s.workersTaken(j) || s.dependentTaken(j)):
			case p == nil:
				s.violated("at rest: pod %s is missing", name)
			case p.phase == "Failed":
				s.violated("at rest: pod %s has failed (%d), and the job neither has nor goes on (%s)", name, p.code, r.restart)
			}
			if s.manifest.services() && !services[name] && !s.taken(j, s.mirror.services[name] != nil) {
				s.violated("at rest: service %s is missing", name)
			}
		}
	}
	for _, name := range s.manifest.dependents() {
		if forLauncher(name) && (s.workersTaken(j) || s.dependentTaken(j)) {
			continue // it is created when the launcher may start, which has no pod while another owner has what all pods need
		}
		if d := s.mirror.dependents[name]; d == nil || d.owner != j.uid && !s.taken(j, true) {
			s.violated("at rest: %s is missing, or somebody else's, and nobody was told", name)
		}
	}
	for name := range pods {
		if !wanted[name] {
			s.violated("at rest: pod %s is one that the job does not ask for", name)
		}
	}
	for name := range services {
		if !wanted[name] || !s.manifest.services() {
			s.violated("at rest: service %s is one that the job does not ask for", name)
		}
	}
	if j.status.is("Suspended") || j.status.is("Stalled") {
		s.violated("at rest: the job goes on and its status says otherwise")
	}
	s.examineCounts(j, pods)
}

// forLauncher reports whether only the launcher needs an object.
func forLauncher(name string) bool {
	return strings.HasPrefix(name, "roles/") || strings.HasPrefix(name, "rolebindings/")
}

// taken reports whether an object with another owner has a name, and an event reports it. Orphans of a job that was deleted with
// the policy Orphan have no owner.
func (s *schedule) taken(j *jobVersion, there bool) bool {
	return there && slices.ContainsFunc(s.mirror.events, func(e event) bool {
		return e.UID == j.uid && e.Reason == "NameConflict"
	})
}

// dependentTaken reports whether another owner has the name of an object that pods need, so that no pod is created: for example
// an orphan of an MPIJob of the same name that was deleted with the policy Orphan.
func (s *schedule) dependentTaken(j *jobVersion) bool {
	return slices.ContainsFunc(s.manifest.dependents(), func(name string) bool {
		d := s.mirror.dependents[name]
		return d != nil && s.taken(j, d.owner != j.uid)
	})
}

// workersTaken reports whether another owner has the name of a worker, so that what waits for the workers waits forever.
func (s *schedule) workersTaken(j *jobVersion) bool {
	pods, _ := s.mine(j)
	workers := s.manifest.replicaType("worker")
	for i := range workers.replicas {
		if name := s.manifest.pod(workers, i); pods[name] == nil && s.taken(j, s.mirror.pods[name] != nil) {
			return true
		}
	}
	return false
}

// done reports whether the ledger names a replica as succeeded. The users of the simulation write no such ledger, so what it
// names must have happened.
func (s *schedule) done(j *jobVersion, label string, index int) bool {
	var ledger training.Ledger
	if json.Unmarshal([]byte(j.ledger), &ledger) != nil || string(ledger.Job) != j.uid || !ledger.Succeeded[label].Has(index) {
		return false
	}
	name := s.manifest.pod(s.manifest.replicaType(label), index)
	if !s.mirror.succeeded[j.uid+"/"+name] {
		s.violated("at rest: the ledger says that %s has succeeded, and it never did", name)
	}
	return true
}

func (s *schedule) examineCounts(j *jobVersion, pods map[string]*pod) {
	decides, done := s.manifest.decides()
	running, succeeded := 0, 0
	for _, r := range s.manifest.rtypes {
		var active, ended int32
		for i := range r.replicas {
			switch p := pods[s.manifest.pod(&r, i)]; {
			case p == nil && s.done(j, r.label, i):
				ended++
			case p == nil:
			case p.phase == "Running":
				active++
			case p.phase == "Succeeded":
				ended++
			}
		}
		if r.name == decides {
			running, succeeded = int(active), int(ended)
			if done(pods, r.replicas, succeeded, running) {
				s.violated("at rest: the success replica type has succeeded and the job has no terminal condition")
			}
		}
		if got := j.status.Replicas[r.name]; got.Active != active || got.Succeeded != ended || got.Failed != 0 {
			s.violated("at rest: the status counts %v of %s, and %d are active, %d have succeeded", got, r.name, active, ended)
		}
	}
	if running > 0 && (!j.status.is("Running") || j.status.is("Restarting")) {
		s.violated("at rest: the success replica type runs and the job is not Running")
	}
}
