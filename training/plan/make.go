package plan

// rule either decides what happens to a job and returns true, or returns false, so that the next rule is tried.
type rule struct {
	name   string
	decide func(*draft) bool
}

// rules returns the rules in order; the first one that applies decides.
//
//	rule        applies when                                   effect
//	deleting    the object has a deletionTimestamp, and has    nothing: garbage collection does the rest
//	            not begun or leaves its pods to others
//	elsewhere   another controller runs the object             nothing, not even a status
//	refused     the spec is rejected                           reports the problems; pods stay as they are
//	accepted    never                                          removes the conditions of an earlier rejection
//	finished    the status has a terminal condition            cleans up; after the TTL deletes the job
//	over        the status has lost its terminal condition     restores it, cleans up
//	suspended   spec.runPolicy.suspend                         deletes all children
//	begun       never                                          sets Created, Resumed and the start time
//	succeeded   the success rule is met                        Succeeded
//	expired     the deadline has passed                        Failed
//	exhausted   containers restarted too often                 Failed
//	failed      a replica failed for good                      Failed
//	departing   the object has a deletionTimestamp             counts pods, creates and replaces nothing
//	continuing  always                                         replaces, deletes, updates and creates children
//
// The rules from refused to failed apply to an object that is being deleted, too; see departing.
//
// A terminal condition has precedence over any creation, and success over failure: once the chief has succeeded, the job
// succeeds, whatever happened to the workers.
func rules() []rule {
	return []rule{
		{"deleting", deleting},
		{"elsewhere", elsewhere},
		{"refused", refuse},
		{"accepted", accept},
		{"finished", finished},
		{"over", over},
		{"suspended", suspended},
		{"begun", begin},
		{"succeeded", succeeded},
		{"expired", expired},
		{"exhausted", exhausted},
		{"failed", failed},
		{"departing", departing},
		{"continuing", continuing},
	}
}

// Make returns the plan for what was observed. It cannot fail.
func Make(o Observed) Plan {
	p, _ := decide(o)
	return p
}

// decide returns the plan and the name of the rule that decided.
func decide(o Observed) (p Plan, rule string) {
	d := newDraft(o)
	for _, r := range rules() {
		rule = r.name
		if r.decide(d) {
			break
		}
	}
	return d.finish(), rule
}

func elsewhere(d *draft) bool {
	d.silent = d.Head.ManagedBy != ""
	return d.silent
}
