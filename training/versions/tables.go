package versions

import (
	"stoic/convert/versions"
	"stoic/training"
)

const group, stored = "kubeflow.org", "v1"

// Kinds returns the kinds that can be served in several versions.
func Kinds() []versions.Kind { return []versions.Kind{TFJob(), MPIJob()} }

// Of returns a kind by its name; nil if it has only one version.
func Of(kind string) *versions.Kind {
	for _, k := range Kinds() {
		if k.Name == kind {
			return &k
		}
	}
	return nil
}

// TFJob returns TFJob in the versions of tf-operator. They have some fields of the run policy directly in the spec. Their default
// deletes the running pods of a job that is over, while v1 keeps all pods, so cleanPodPolicy is always written explicitly.
func TFJob() versions.Kind {
	clean := versions.Move{Here: "spec.cleanPodPolicy", Hub: "spec.runPolicy.cleanPodPolicy", Default: "Running", HubDefault: "None"}
	flat := func(name string) versions.Move {
		return versions.Move{Here: "spec." + name, Hub: "spec.runPolicy." + name}
	}
	newer := []string{"spec.runPolicy", "spec.successPolicy", "spec.enableDynamicWorker"}
	return versions.Kind{Group: group, Name: "TFJob", Hub: stored, Annotation: training.AnnotationConversion, Versions: []versions.Version{
		{Name: "v1beta2", HubOnly: newer,
			Moves: []versions.Move{clean, flat("ttlSecondsAfterFinished"), flat("activeDeadlineSeconds"), flat("backoffLimit")}},
		{Name: "v1beta1", HubOnly: newer,
			Moves: []versions.Move{clean, flat("ttlSecondsAfterFinished")}},
		{Name: "v1alpha2", HubOnly: newer,
			Moves: []versions.Move{clean, flat("ttlSecondsAfterFinished"), {Here: "status.tfReplicaStatuses", Hub: "status.replicaStatuses"}}},
	}}
}

// MPIJob returns MPIJob in the version of mpi-operator. Its launchers start processes by SSH, those of v1 by kubectl exec: only
// the object is converted; the image must still match.
func MPIJob() versions.Kind {
	return versions.Kind{Group: group, Name: "MPIJob", Hub: stored, Annotation: training.AnnotationConversion, Versions: []versions.Version{{
		Name: "v2beta1",
		Moves: []versions.Move{
			{Here: "spec.runPolicy.cleanPodPolicy", Hub: "spec.runPolicy.cleanPodPolicy", HubInstead: "spec.cleanPodPolicy"},
			{Here: "spec.mpiReplicaSpecs.Launcher.restartPolicy", Hub: "spec.mpiReplicaSpecs.Launcher.restartPolicy", Default: "OnFailure", HubDefault: "Never"},
		},
		Only:    []string{"spec.mpiImplementation", "spec.sshAuthMountPath", "spec.launcherCreationPolicy", "spec.runLauncherAsWorker"},
		HubOnly: []string{"spec.cleanPodPolicy", "spec.mainContainer"},
	}}}
}
