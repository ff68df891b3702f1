package simulation

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// judge examines every write of the operator when it is committed. Its rules do not use the operator's own packages.
//
//	a write                  may only
//	of anything              change the job and what it controls
//	DELETE                   name the UID of its object; a pod must have failed, or not be required by the job
//	                         in some version that the process may still believe in
//	POST of a pod, service   create what the process does not know to have created already, for the job that exists,
//	                         unless the process must know that the job is being deleted, or over
//	PATCH of a status        keep the terminal condition
type judge struct {
	*schedule
	// excused counts, by name, the pods that others have deleted.
	excused map[string]int
}

// before is the state before a write.
type before struct {
	job      jobVersion
	pod      *pod
	service  *child
	versions []jobVersion // that the process may believe in
}

func (j *judge) before(q *request) before {
	b := before{job: *j.mirror.job(), pod: j.mirror.pods[q.name], service: j.mirror.services[q.name]}
	for i, v := range j.mirror.jobs {
		// The last version that is not newer than known is what the process knows; it may believe in each newer one, too.
		if known := q.from.knows[q.from.jobs]; v.version > known || i+1 == len(j.mirror.jobs) || j.mirror.jobs[i+1].version > known {
			b.versions = append(b.versions, v)
		}
	}
	return b
}

// believes reports whether the process may believe in a version for which this is true.
func (b *before) believes(is func(*jobVersion) bool) bool {
	for i := range b.versions {
		if is(&b.versions[i]) {
			return true
		}
	}
	return false
}

// after judges a write that changed something.
func (j *judge) after(q *request, b before) {
	switch {
	case q.resource == "events":
	case q.method == http.MethodPost:
		j.created(q, b)
	case q.method == http.MethodDelete:
		j.deleted(q, b)
	case q.resource == q.from.jobs || q.resource == q.from.jobs+"/status":
		j.patched(q, b)
	case q.method == http.MethodPatch && j.depends(q.resource, q.name):
	default:
		j.violated("%s %s %s: nothing of this kind is ever changed", q.method, q.resource, q.name)
	}
}

// posted: a process does not create again what it knows to have created, as long as the object exists and the process can see it. One that
// a label hid from it is not seen until its watch shows it again.
func (j *judge) posted(q *request, code int) {
	name := metaOf(q.body).Name
	there := j.mirror.services[name]
	if p := j.mirror.pods[name]; q.resource == "pods" && p != nil {
		there = &p.child
	} else if q.resource != "services" {
		return
	}
	switch {
	case there == nil:
	case code == http.StatusCreated:
		q.made = there.UID
	case there.Labels[labelOperator] == "" || j.mirror.selected[there.UID] > q.from.knows[q.resource]:
	case code == http.StatusConflict && q.from.made[q.resource+"/"+name] == there.UID && there.owner == metaOf(q.body).controller():
		j.violated("%s %s was asked for again by the process that had made it", q.resource, name)
	}
}

func (j *judge) created(q *request, b before) {
	m := metaOf(q.body)
	of := m.controller()
	mine := func(is func(*jobVersion) bool) func(*jobVersion) bool {
		return func(v *jobVersion) bool { return v.uid == of && is(v) }
	}
	if !b.believes(mine(func(v *jobVersion) bool { return !v.gone && !v.deleting })) {
		j.violated("%s %s was made for a job that is gone or going, and the operator knew", q.resource, m.Name)
	}
	if !b.believes(mine(func(v *jobVersion) bool { return v.status.terminal() == "" })) {
		j.violated("%s %s was made for a job that is over, and the operator knew", q.resource, m.Name)
	}
	if !b.believes(mine(func(v *jobVersion) bool {
		return !v.suspend && v.broken == "" && (j.depends(q.resource, m.Name) || j.asked(v, m.Name))
	})) {
		j.violated("%s %s was made, which the job does not ask for", q.resource, m.Name)
	}
	if q.resource != "pods" {
		return
	}
	live := 0
	for _, p := range j.mirror.pods {
		if p.owner == of && !p.over() && p.Labels[labelRole] == m.Labels[labelRole] && p.Labels[labelIndex] == m.Labels[labelIndex] {
			live++
		}
	}
	if live > 1 {
		j.violated("%d live pods of %s %s", live, m.Labels[labelRole], m.Labels[labelIndex])
	}
}

// asked reports whether a version of the job has a replica of that name.
func (j *judge) asked(v *jobVersion, name string) bool {
	label, index, ok := j.mirror.place(name)
	return ok && index < v.replicas[label]
}

// depends reports whether a job has a dependent of that name.
func (j *judge) depends(resource, name string) bool {
	return slices.Contains(j.manifest.dependents(), resource+"/"+name)
}

func (j *judge) deleted(q *request, b before) {
	var options struct{ Preconditions struct{ UID string } }
	_ = json.Unmarshal(q.body, &options)
	if options.Preconditions.UID == "" {
		j.violated("DELETE %s %s names no UID", q.resource, q.name)
	}
	over := func(v *jobVersion) bool { return v.status.terminal() != "" || strings.Contains(v.ledger, `"verdict"`) }
	unwanted := func(v *jobVersion) bool { return v.suspend || over(v) || !j.asked(v, q.name) }
	ours := func(c *child) bool {
		owner := c.owner
		if was := j.mirror.disowned[c.UID]; was.at > q.from.knows[q.resource] {
			owner = was.owner // the process may not have observed that yet
		}
		return b.believes(func(v *jobVersion) bool { return v.uid == owner })
	}
	switch q.resource {
	case q.from.jobs:
		if !b.believes(over) {
			j.violated("the job was deleted, which is not over")
		}
	case "pods":
		if !ours(&b.pod.child) {
			j.violated("pod %s was deleted, which belongs to somebody else", q.name)
		}
		if b.pod.phase != "Failed" && !b.believes(unwanted) {
			j.violated("pod %s was deleted, which the job asks for and which has not failed", q.name)
		}
	case "services":
		if !ours(b.service) {
			j.violated("service %s was deleted, which belongs to somebody else", q.name)
		}
		if !b.believes(unwanted) {
			j.violated("service %s was deleted, which the job asks for", q.name)
		}
	default:
		j.violated("DELETE %s %s", q.resource, q.name)
	}
}

func (j *judge) patched(q *request, b before) {
	was, is := b.job.status.terminal(), j.mirror.job().status.terminal()
	if was != "" && is != was && !j.mirror.job().gone {
		j.violated("the terminal condition %s became %q", was, is)
	}
}
