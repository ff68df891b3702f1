package apply

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// refusals remembers, by the UID of an object, which of its dependents were refused when they were last created, so that the next
// decision knows. It is in memory alone: after a restart the next creation reports it again.
type refusals struct {
	memory[map[childName]refused]
	now func() time.Time
}

// childName identifies a dependent that does not exist.
type childName struct {
	resource        schema.Resource
	namespace, name string
}

type refused struct {
	schema.Refusal
	last time.Time // of the last answer
}

const (
	// mostRefusals bounds what is remembered for one object: a thousand dependents that are refused for the same cause say no more than
	// the first few.
	mostRefusals = 20
	// refusalHolds is how long a refusal is remembered if its dependent is not created again. It is longer than the longest back-off, so
	// that a refusal that repeats is known all the time.
	refusalHolds = 2 * LastRefused
)

func newRefusals(now func() time.Time) *refusals {
	return &refusals{newMemory[map[childName]refused](), now}
}

// note records what the API server answered to a creation. A failure that is no answer, such as a timeout, changes nothing.
func (n *refusals) note(owner types.UID, o schema.Object, err error) {
	n.Lock()
	defer n.Unlock()
	at := childName{o.Resource, o.Namespace, o.Name}
	switch {
	case err == nil:
		if delete(n.entries[owner], at); len(n.entries[owner]) == 0 {
			delete(n.entries, owner)
		}
		return
	case !isForAuthor(err):
		return
	}
	now := n.now()
	is := refused{Refusal: refusalOf(o, err), last: now}
	is.Since = now
	was, known := n.entries[owner][at]
	if known && was.Cause == is.Cause && was.Reason == is.Reason && was.Code == is.Code && now.Sub(was.last) < refusalHolds {
		is.Since = was.Since
	}
	if !known && len(n.entries[owner]) >= mostRefusals {
		return
	}
	if n.entries[owner] == nil {
		n.entries[owner] = map[childName]refused{}
	}
	n.entries[owner][at] = is
}

// of returns the refusals of an object, sorted by resource and name.
func (n *refusals) of(owner types.UID) []schema.Refusal {
	n.Lock()
	defer n.Unlock()
	now := n.now()
	maps.DeleteFunc(n.entries[owner], func(_ childName, r refused) bool { return now.Sub(r.last) >= refusalHolds })
	if len(n.entries[owner]) == 0 {
		delete(n.entries, owner)
		return nil
	}
	var found []schema.Refusal
	for _, r := range n.entries[owner] {
		found = append(found, r.Refusal)
	}
	slices.SortFunc(found, func(a, b schema.Refusal) int {
		return cmp.Or(cmp.Compare(a.Resource.Plural, b.Resource.Plural), cmp.Compare(a.Resource.APIVersion(), b.Resource.APIVersion()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// Refused returns the dependents of an object that the API server refused when they were last created.
func (a *Applier) Refused(owner types.UID) []schema.Refusal { return a.refusals.of(owner) }

// refusalOf returns what decisions see of an error that is for the user.
func refusalOf(o schema.Object, err error) schema.Refusal {
	r := schema.Refusal{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, Cause: causeOf(err), Message: schema.Clean(err.Error(), schema.MaxRefusal)}
	var status apierrors.APIStatus
	var elsewhere *elsewhereError
	if errors.As(err, &elsewhere) {
		err = elsewhere.err
	}
	if errors.As(err, &status) {
		r.Reason, r.Code = status.Status().Reason, status.Status().Code
	}
	return r
}

// causeOf returns the cause of what the API server refuses. Admission plugins answer with the same code; only their words distinguish
// them. Unknown words, such as those of another version, lead to a more general cause and to nothing else.
func causeOf(err error) schema.Cause {
	switch {
	case isForeign(err):
		return schema.CauseNameTaken
	case isElsewhere(err):
		return schema.CauseNotFound
	}
	text := err.Error()
	for _, known := range wordsOfCauses() {
		if strings.Contains(text, known.words) {
			return known.cause
		}
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden:
		return schema.CauseForbidden
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return schema.CauseInvalid
	case metav1.StatusReasonNotFound:
		return schema.CauseNotFound
	}
	return schema.CauseOther
}

type wordsOfCause struct {
	words string
	cause schema.Cause
}

// wordsOfCauses are looked for in this order: the message of a webhook may contain any words, so webhooks come first.
func wordsOfCauses() []wordsOfCause {
	return []wordsOfCause{
		{"admission webhook \"", schema.CauseWebhook}, {webhookFails, schema.CauseWebhook},
		{"ValidatingAdmissionPolicy '", schema.CausePolicy},
		{"exceeded quota: ", schema.CauseQuota}, {"failed quota: ", schema.CauseQuota}, {"insufficient quota ", schema.CauseQuota},
		{"status unknown for quota: ", schema.CauseQuota},
		{" usage per ", schema.CauseLimitRange}, {" max limit to request ratio per ", schema.CauseLimitRange},
		{"violates PodSecurity ", schema.CausePodSecurity},
		{"no PriorityClass with name ", schema.CausePriorityClass},
		{"error looking up service account ", schema.CauseServiceAccount},
		{" cannot create resource ", schema.CausePermission},
	}
}

// webhookFails is in the message of an API server that could not call a webhook. Its code is that of an internal error, but the failure
// may last.
const webhookFails = "failed calling webhook "
