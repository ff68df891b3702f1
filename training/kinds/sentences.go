package kinds

import "stoic/training"

// sentences returns the messages of most kinds. With a master, and for failures, they name the job without its namespace.
func sentences(job *training.Job) training.Sentences {
	short, long := job.Kind.Name+" "+job.Meta.Name, job.Kind.Name+" "+job.Key()
	sentences := training.Sentences{Running: long + " is running.", Succeeded: long + " successfully completed.", Failed: short + " is failed because"}
	if job.ReplicaType(master) != nil {
		sentences.Running, sentences.Succeeded = short+" is running.", short+" is successfully completed."
	}
	return sentences
}

// master and worker are names of replica types of most kinds.
const master, worker = "Master", "Worker"
