package schema

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is a dependent object that the API server refused to create when it was asked for last. It is an answer, not
// trouble on the way to the API server: it stays until somebody changes something.
type Refusal struct {
	Resource        Resource
	Namespace, Name string
	Cause           Cause
	// Reason and Code are those of the API server's answer; empty and 0 where the engine refused by itself, as the name is taken
	// by an object of somebody else.
	Reason  metav1.StatusReason
	Code    int32
	Message string    // clean, at most MaxRefusal bytes
	Since   time.Time // of the first such answer in a row
}

// WhyRefused is the message of the first refusal behind a separator; "" if nothing was refused.
func (o *Observed) WhyRefused(separator string) string {
	if len(o.Refused) == 0 {
		return ""
	}
	return separator + o.Refused[0].Message
}

// MaxRefusal bounds the message of a refusal.
const MaxRefusal = 256

// Cause is what a creation was refused for. The list is closed: causes are labels of metrics.
type Cause string

const (
	CauseQuota          Cause = "QuotaExceeded"          // a ResourceQuota is used up, or asks for a request that is not there
	CauseLimitRange     Cause = "LimitRange"             // a LimitRange forbids the amount
	CausePodSecurity    Cause = "PodSecurity"            // the Pod Security level of the namespace
	CausePriorityClass  Cause = "PriorityClassNotFound"  // the PriorityClass is not there
	CauseServiceAccount Cause = "ServiceAccountNotFound" // the ServiceAccount is not there
	CauseWebhook        Cause = "AdmissionWebhook"       // an admission webhook denies it, or fails
	CausePolicy         Cause = "AdmissionPolicy"        // a ValidatingAdmissionPolicy denies it
	CausePermission     Cause = "NotPermitted"           // the operator may not create it
	CauseForbidden      Cause = "Forbidden"              // another admission plugin
	CauseInvalid        Cause = "Invalid"                // the API server finds it malformed
	CauseNameTaken      Cause = "NameTaken"              // an object of somebody else has the name
	CauseNotFound       Cause = "NotFound"               // the namespace or the resource is not there
	CauseOther          Cause = "other"                  // none of these
)

// Causes lists all of them.
func Causes() []Cause {
	return []Cause{CauseQuota, CauseLimitRange, CausePodSecurity, CausePriorityClass, CauseServiceAccount, CauseWebhook, CausePolicy,
		CausePermission, CauseForbidden, CauseInvalid, CauseNameTaken, CauseNotFound, CauseOther}
}

// CountRefused is the counter of refused creations: the engine asks for it, with the cause as Count.Reason, once for each event
// about one.
const CountRefused = "refused creations"
