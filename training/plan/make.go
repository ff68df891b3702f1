package plan

// rule looks at the draft and either decides what is to be done (and answers true) or leaves it to the next.
type rule struct {
	name   string
	decide func(*draft) bool
}

// rules are asked in this order; the first to speak decides.
//
//	rule        speaks when                                    and then
//	deleting    the object has a deletionTimestamp             nothing: garbage collection does the rest
//	elsewhere   another controller runs the object             nothing, not even a status
//	refused     the object is no job                           reports to its author; pods stay as they are
//	accepted    never                                          forgets an earlier refusal
//	finished    a terminal condition is on record              cleans up; after the TTL deletes the job
//	over        there was a terminal condition, and it is lost puts it back, cleans up
//	suspended   spec.runPolicy.suspend                         deletes all children
//	begun       never                                          notes Created, Resumed and the start time
//	succeeded   the success rule is met                        Succeeded
//	expired     the deadline has passed                        Failed
//	exhausted   containers restarted too often                 Failed
//	failed      a replica failed for good                      Failed
//	continuing  always                                         replaces, deletes, updates and creates children
//
// A terminal condition is looked for before anything is created, and a success before a failure: a chief that is done
// makes the job a success, whatever became of the workers.
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
		{"continuing", continuing},
	}
}

// Make decides. It cannot fail.
func Make(o Observed) Plan {
	p, _ := decide(o)
	return p
}

// decide also names the rule that decided.
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

func deleting(d *draft) bool {
	nothing := d.Head == nil || d.Job == nil && d.Rejection == nil
	d.silent = nothing || d.Head.Meta.DeletionTimestamp != nil
	return d.silent
}

func elsewhere(d *draft) bool {
	d.silent = d.Head.ManagedBy != ""
	return d.silent
}
