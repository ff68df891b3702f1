package schema

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal says that the API server refused the last attempt to create a dependent. It is an answer, not a failure to reach the API
// server: it stays until some client changes something.
type Refusal struct {
	Resource        Resource
	Namespace, Name string
	Cause           Cause
	// Reason and Code are those of the API server's answer. They are empty and 0 if the engine itself refused, because the name is
	// taken by an object that does not belong to the owner.
	Reason  metav1.StatusReason
	Code    int32
	Message string    // clean, at most MaxRefusal bytes
	Since   time.Time // of the first such answer in a row
}

// WhyRefused returns the message of the first refusal after a separator; "" if nothing was refused.
func (o *Observed) WhyRefused(separator string) string {
	if len(o.Refused) == 0 {
		return ""
	}
	return separator + o.Refused[0].Message
}

// MaxRefusal bounds the message of a refusal.
const MaxRefusal = 256

// Cause classifies refusals. The list is closed: causes are labels of metrics.
type Cause string

const (
	CauseQuota          Cause = "QuotaExceeded"          // a ResourceQuota is used up, or requires a request that is not set
	CauseLimitRange     Cause = "LimitRange"             // a LimitRange forbids the amount
	CausePodSecurity    Cause = "PodSecurity"            // the Pod Security level of the namespace
	CausePriorityClass  Cause = "PriorityClassNotFound"  // the PriorityClass does not exist
	CauseServiceAccount Cause = "ServiceAccountNotFound" // the ServiceAccount does not exist
	CauseWebhook        Cause = "AdmissionWebhook"       // an admission webhook denies it, or fails
	CausePolicy         Cause = "AdmissionPolicy"        // a ValidatingAdmissionPolicy denies it
	CausePermission     Cause = "NotPermitted"           // the operator may not create it
	CauseForbidden      Cause = "Forbidden"              // another admission plugin
	CauseInvalid        Cause = "Invalid"                // the API server finds it malformed
	CauseNameTaken      Cause = "NameTaken"              // an object that does not belong to the owner has the name
	CauseNotFound       Cause = "NotFound"               // the namespace or the resource does not exist
	CauseOther          Cause = "other"                  // none of these
)

// Causes lists every cause.
func Causes() []Cause {
	return []Cause{CauseQuota, CauseLimitRange, CausePodSecurity, CausePriorityClass, CauseServiceAccount, CauseWebhook, CausePolicy,
		CausePermission, CauseForbidden, CauseInvalid, CauseNameTaken, CauseNotFound, CauseOther}
}

// CountRefused is the counter of refused creations. The engine counts each event about a refusal, with the cause as Count.Reason.
const CountRefused = "refused creations"
