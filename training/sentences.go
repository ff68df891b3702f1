package training

import "cmp"

// Sentences are the messages of a job's conditions, in the wording that clients of its kind know from
// training-operator 1.9. If a kind leaves one empty, the default of all kinds is used.
type Sentences struct {
	Created, Running, Succeeded string
	// NotRunning is the message of the condition Running when it is False because the job is suspended.
	NotRunning, Suspended, Resumed string
	// PodRestartPolicy is the message of the event about a restart policy in a pod template.
	PodRestartPolicy string
	// Failed is followed by the number and the replica type of the replicas that failed.
	Failed string
}

// Sentences returns the messages of the job, with the defaults filled in.
func (j *Job) Sentences() Sentences {
	full, short := j.Kind.Name+" "+j.Key(), j.Kind.Name+" "+j.Meta.Name
	own := Sentences{}
	if j.Kind.Sentences != nil {
		own = j.Kind.Sentences(j)
	}
	return Sentences{
		Created: cmp.Or(own.Created, short+" is created."), Running: cmp.Or(own.Running, full+" is running."),
		Succeeded:  cmp.Or(own.Succeeded, full+" successfully completed."),
		NotRunning: cmp.Or(own.NotRunning, short+" is suspended."), Suspended: cmp.Or(own.Suspended, short+" is suspended."),
		Resumed: cmp.Or(own.Resumed, short+" is resumed."), Failed: cmp.Or(own.Failed, full+" has failed because"),
		PodRestartPolicy: cmp.Or(own.PodRestartPolicy, "Restart policy in pod template will be overwritten by restart policy in replica spec"),
	}
}
