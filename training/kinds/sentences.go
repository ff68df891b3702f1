package kinds

import "stoic/training"

// sentences of the kinds that have none of their own: those of a job with a master, and all of its failures, name the job alone.
func sentences(job *training.Job) training.Sentences {
	short, long := job.Kind.Name+" "+job.Meta.Name, job.Kind.Name+" "+job.Key()
	sentences := training.Sentences{Running: long + " is running.", Succeeded: long + " successfully completed.", Failed: short + " is failed because"}
	if job.ReplicaType(master) != nil {
		sentences.Running, sentences.Succeeded = short+" is running.", short+" is successfully completed."
	}
	return sentences
}

// master and worker are replica types of most kinds.
const master, worker = "Master", "Worker"
