package apply

import (
	"fmt"

	"stoic/schema"
)

// Contradiction returns what makes a plan impossible, or "". A plan must not create two objects of one name, of which either would win,
// nor an object of a resource that the watch does not own: it would never see the object, and create it again and again.
func (a *Applier) Contradiction(plan schema.Plan) string {
	type name struct {
		schema.Resource
		namespace, name string
	}
	var seen map[name]bool // of a plan that creates one object none is needed
	if len(plan.Create) > 1 {
		seen = make(map[name]bool, len(plan.Create))
	}
	var last schema.Resource
	for i := range plan.Create {
		o := &plan.Create[i]
		if o.Resource != last && a.child(o.Resource) < 0 {
			return fmt.Sprintf("%s %s is to be created, and %s of %s are not among what the operator owns", o.Resource.Kind, o.Name, o.Resource.Plural, o.Resource.APIVersion())
		}
		last = o.Resource
		if seen == nil {
			continue
		}
		is := name{o.Resource, o.Namespace, o.Name}
		if seen[is] {
			return fmt.Sprintf("%s %s is to be created twice", o.Resource.Kind, o.Name)
		}
		seen[is] = true
	}
	return ""
}
