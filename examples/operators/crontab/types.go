package crontab

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/schedule"
	"stoic/convert/versions"
	"stoic/schema"
)

// CronTab runs an image by a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=crontabs,singular=crontab,shortName=ct
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Spec",type=string,JSONPath=`.spec.cronSpec`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CronTab struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CronTabSpec   `json:"spec"`
	Status            CronTabStatus `json:"status,omitempty"`
}

// CronTabSpec says what to run and when. All of it may be changed; runs that have begun stay as they are.
type CronTabSpec struct {
	// The schedule: minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\s*(@[A-Za-z]+|[^\s=@]+(\s+[^\s=@]+){4})\s*$`
	CronSpec string `json:"cronSpec" stoic:"required"`
	// The image that each run starts.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image" stoic:"required,minLength=1"`
	// How many pods a run has side by side; each must succeed. With 0 a run is over at once.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty" stoic:"min=0"`
	// What the container runs in place of the image's entrypoint.
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// The time zone of the schedule by its name in the IANA database. The default is UTC.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone string `json:"timeZone,omitempty" stoic:"maxLength=64"`
	// No run is started while this is true. When it is no longer, the latest one that was missed is.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// What happens to a run that is due while another one is active: Allow starts it, Forbid lets it wait, Replace deletes the other.
	// +kubebuilder:default=Allow
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace
	// +optional
	ConcurrencyPolicy string `json:"concurrencyPolicy,omitempty" stoic:"enum=Allow;Forbid;Replace"`
	// For how long after its time a run that was missed is still started. The default is for ever.
	// +kubebuilder:validation:Minimum=1
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" stoic:"min=1"`
	// How many runs that have succeeded are kept.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +optional
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" stoic:"min=0"`
	// How many runs that have failed are kept.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty" stoic:"min=0"`
}

// CronTabStatus is what the operator has done and found.
type CronTabStatus struct {
	// The time of the latest run that was started, on record before its pods are. No run of that time or an earlier one is started.
	// +optional
	LastScheduleTime metav1.Time `json:"lastScheduleTime,omitzero"`
	// When the latest run that succeeded ended.
	// +optional
	LastSuccessfulTime metav1.Time `json:"lastSuccessfulTime,omitzero"`
	// The first time at which a run is due that was not started yet.
	// +optional
	NextScheduleTime metav1.Time `json:"nextScheduleTime,omitzero"`
	// The runs that have been started and are not over, the latest hundred.
	// +listType=atomic
	// +optional
	Active []Run `json:"active,omitempty"`
	// How many pods the active runs have.
	// +optional
	Replicas int32 `json:"replicas"`
	// The labels of the pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: runs are started as the spec says. Stalled: none ever will be, until the spec is changed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Run names the Job of one.
type Run struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// Versions returns the versions of a CronTab. v1beta1 only has a schedule, called cron, and an image. A conversion back to v1
// restores all other fields.
func Versions() versions.Kind {
	newer := []string{"spec.replicas", "spec.command", "spec.timeZone", "spec.suspend", "spec.concurrencyPolicy", "spec.startingDeadlineSeconds",
		"spec.successfulJobsHistoryLimit", "spec.failedJobsHistoryLimit"}
	return versions.Kind{Group: group, Name: "CronTab", Hub: "v1", Annotation: group + "/conversion", Versions: []versions.Version{
		{Name: "v1beta1", HubOnly: newer, Moves: []versions.Move{{Here: "spec.cron", Hub: "spec.cronSpec"}}}}}
}

// nameLimit is the maximum length of a CronTab's name: that of its Job is up to 11 characters longer, and a label has at most 63.
const nameLimit = 52

// fill fills in the defaults of the CRD, for CronTabs that were stored before the CRD had them.
func fill(c *CronTab) {
	s, one, three := &c.Spec, int32(1), int32(3)
	s.Replicas, s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = cmp.Or(s.Replicas, &one), cmp.Or(s.SuccessfulJobsHistoryLimit, &three), cmp.Or(s.FailedJobsHistoryLimit, &one)
	s.ConcurrencyPolicy = cmp.Or(s.ConcurrencyPolicy, "Allow")
}

// validate checks what no tag can express.
func validate(c *CronTab) []schema.Problem {
	_, problems := c.Spec.schedule()
	if n := len(c.Name); n > nameLimit {
		problems = append(problems, schema.Problem{Code: schema.InvalidName, Path: "metadata.name", Found: fmt.Sprintf("a name of %d characters", n),
			Want: fmt.Sprintf("have at most %d", nameLimit), Hint: "the names of its Jobs are longer, and at most 63"})
	}
	return problems
}

// schedule returns the parsed schedule of the spec, and its problems.
func (s *CronTabSpec) schedule() (*schedule.Schedule, []schema.Problem) {
	zone, wrong := schedule.Zone("spec.timeZone", s.TimeZone)
	found, problems := schedule.Parse("spec.cronSpec", s.CronSpec, zone)
	return found, append(problems, wrong...)
}
