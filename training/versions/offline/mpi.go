package offline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"stoic/convert"
	"stoic/schema"
	trainingversions "stoic/training/versions"
)

// retries is the default backoffLimit of the first MPI operators for the launcher. In v1 the default is no limit.
const retries = int64(6)

const inReplicaSpecs, inLauncher, inWorker = "spec.mpiReplicaSpecs", "spec.mpiReplicaSpecs.Launcher", "spec.mpiReplicaSpecs.Worker"

// mpiV2beta1 converts the object only. Its images start processes by SSH, which v1 does not.
func mpiV2beta1(c *conversion) {
	c.lost("apiVersion", "v2beta1 starts processes by SSH and v1 by kubectl exec, so an image that counts on SSH must change; the operator runs v2beta1, too, where that is installed")
	c.byTable(trainingversions.MPIJob())
	const manager = "kubeflow.org/mpi-operator"
	if policy := object(c.spec(), "runPolicy"); policy["managedBy"] == manager {
		delete(policy, "managedBy")
		c.lost("spec.runPolicy.managedBy", "jobs of kubeflow.org/v1 are not run by "+manager)
	}
}

// mpiV1alpha2 converts the form with the replica types of v1 and a launcher that is a batch/v1 Job.
func mpiV1alpha2(c *conversion) {
	c.flatten("activeDeadlineSeconds", "backoffLimit")
	c.lose("mpiDistribution", c.noField()+"; what it set is up to the command of the launcher")
	launcher := object(object(c.spec(), "mpiReplicaSpecs"), "Launcher")
	if launcher == nil {
		return
	}
	if void(launcher["restartPolicy"]) {
		launcher["restartPolicy"] = "OnFailure"
		c.filled(inLauncher+".restartPolicy", "OnFailure, which MPIJobs of kubeflow.org/v1alpha2 mean without it")
	}
	if launcher["restartPolicy"] != "Never" {
		c.retry()
	}
}

// retry sets backoffLimit if it is not set.
func (c *conversion) retry() {
	c.fill("backoffLimit", retries, fmt.Sprintf("%d, which MPIJobs of %s/%s mean without it", retries, group, c.version))
}

// fill sets a field of the run policy if it is not set.
func (c *conversion) fill(key string, value any, text string) {
	spec := c.spec()
	policy, ok := spec["runPolicy"].(map[string]any)
	if !ok && spec["runPolicy"] != nil || !void(policy[key]) {
		return
	}
	if policy == nil {
		policy = map[string]any{}
		spec["runPolicy"] = policy
	}
	policy[key] = value
	c.filled("spec.runPolicy."+key, text)
}

// mpiV1alpha1 converts the form with one template for both the launcher, which is a batch/v1 Job, and the workers, which are a
// StatefulSet that sleeps and is scaled to 0 at the end.
func mpiV1alpha1(c *conversion) {
	spec := c.spec()
	template, ok := spec["template"].(map[string]any)
	if !ok {
		c.problem(schema.Problem{Code: schema.MissingField, Path: "spec.template", Want: "be an object"})
		return
	}
	w := c.workersOf(spec, object(template, "spec"))
	if len(c.problems) > 0 {
		return
	}
	if _, ok := c.object["status"]; ok {
		delete(c.object, "status")
		c.lost("status", "it has another form in kubeflow.org/v1, and is written by the operator")
	}
	c.flatten("activeDeadlineSeconds", "backoffLimit")
	c.lose("BackoffLimit", "names of fields are case-sensitive: set spec.runPolicy.backoffLimit if it is to have an effect") // as Arena's chart once wrote it
	c.lose("mpiReplicaSpecs", "MPIJobs of kubeflow.org/v1alpha1 have no such field, so it had no effect")
	c.lose("launcherOnMaster", "put a nodeSelector and tolerations into the template of the Launcher")
	c.lose("mountsOnLauncher", "the Launcher has the volumes of the template")
	c.lose("mpiDistribution", c.noField()+"; what it set is up to the command of the launcher")
	resources := spec["launcherResources"]
	for _, key := range []string{"template", "replicas", "gpus", "processingUnits", "gpusPerNode", "processingUnitsPerNode", "processingResourceType", "launcherResources"} {
		delete(spec, key)
	}
	spec["mpiReplicaSpecs"] = map[string]any{"Launcher": c.launcher(template, resources), "Worker": c.worker(template, w)}
	if w.slots > 1 && void(spec["slotsPerWorker"]) {
		spec["slotsPerWorker"] = w.slots
		c.filled("spec.slotsPerWorker", fmt.Sprintf("%d, the processing units of a worker, which MPIJobs of kubeflow.org/v1alpha1 mean without it", w.slots))
	}
	if void(spec["cleanPodPolicy"]) {
		c.fill("cleanPodPolicy", "Running", "Running, as MPIJobs of kubeflow.org/v1alpha1 remove their workers at the end")
	}
}

// workers are the workers of an MPIJob of v1alpha1.
type workers struct {
	replicas any
	// from is the field that holds replicas itself; empty if replicas is calculated.
	from string
	// resource and units are the processing units of each worker that the job sets outside its template; 0: none.
	resource string
	units    int64
	// slots are the processing units of a worker, set inside or outside the template; 0: none.
	slots int64
}

func (c *conversion) workersOf(spec, pod map[string]any) (w workers) {
	w.resource = "nvidia.com/gpu"
	if spec["processingResourceType"] == "cpu" {
		w.resource = "cpu"
	}
	var named []string
	for _, key := range []string{"gpus", "processingUnits", "replicas"} {
		if spec[key] != nil {
			named = append(named, key)
		}
	}
	switch {
	case len(named) == 0:
		c.problem(schema.Problem{Code: schema.MissingField, Path: "spec.replicas", Want: "be set", Hint: "or `gpus`, or `processingUnits`"})
	case len(named) > 1:
		c.problem(schema.Problem{Code: schema.Conflict, Path: "spec." + named[1], Found: "`" + named[1] + "` beside `" + named[0] + "`", Want: "be the only one of the two", Hint: "remove one"})
	case named[0] == "replicas":
		w.replicas, w.from = spec["replicas"], "spec.replicas"
		w.slots = limitOf(firstContainer(pod), w.resource)
	default:
		c.allocate(&w, spec, named[0])
	}
	return w
}

// allocate spreads a number of processing units over nodes, as the operator of v1alpha1 did.
func (c *conversion) allocate(w *workers, spec map[string]any, key string) {
	total, ok := c.count("spec."+key, spec[key], 0)
	perNode, known := c.options.GPUsPerNode, ok
	if value := spec[key+"PerNode"]; value != nil {
		perNode, known = c.count("spec."+key+"PerNode", value, 1)
	}
	switch {
	case !ok || !known:
	case perNode == 0:
		c.problem(schema.Problem{Code: schema.MissingField, Path: "spec." + key + "PerNode", Want: "be set",
			Hint: "or give --gpus-per-node, with the number that the operator had as --gpus-per-node or --processing-units-per-node"})
	case total < perNode:
		w.replicas, w.units = int64(1), total
	case total%perNode != 0:
		c.problem(schema.Problem{Code: schema.InvalidValue, Path: "spec." + key, Found: fmt.Sprintf("number %d", total),
			Want: fmt.Sprintf("be below %d, the number of a node, or a multiple of it", perNode)})
	default:
		w.replicas, w.units = total/perNode, perNode
	}
	w.slots = w.units
}

// count reads an integer from least to MaxInt32, and reports a problem with any other value.
func (c *conversion) count(path string, raw any, least int64) (n int64, ok bool) {
	switch v := raw.(type) {
	case int64:
		n, ok = v, true
	case float64:
		n, ok = int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	switch {
	case !ok:
		c.problem(schema.Problem{Code: schema.TypeMismatch, Path: path, Found: convert.Found(raw), Want: "be an integer"})
	case n < least || n > math.MaxInt32:
		c.problem(schema.Problem{Code: schema.OutOfRange, Path: path, Found: fmt.Sprintf("number %d", n), Want: fmt.Sprintf("be from %d to %d", least, math.MaxInt32)})
		return 0, false
	}
	return n, ok
}

// launcher returns the Launcher, with the resources in launcherResources or none.
func (c *conversion) launcher(template map[string]any, resources any) map[string]any {
	own, _ := clone(template).(map[string]any)
	pod := object(own, "spec")
	restart, why := "OnFailure", "OnFailure, as the launcher of MPIJobs of kubeflow.org/v1alpha1 is a Job"
	if pod["restartPolicy"] == "Never" {
		restart, why = "Never", "Never, as the pod template said"
	} else {
		c.retry()
	}
	delete(pod, "restartPolicy")
	if main := firstContainer(pod); main != nil {
		const path = inLauncher + ".template.spec.containers[0].resources"
		switch named, ok := resources.(map[string]any); {
		case ok:
			main["resources"] = clone(named)
			c.moved("spec.launcherResources", path)
		case main["resources"] != nil:
			delete(main, "resources")
		}
	}
	c.moved("spec.template", inLauncher+".template")
	c.filled(inLauncher+".restartPolicy", why)
	return map[string]any{"replicas": int64(1), "restartPolicy": restart, "template": own}
}

// worker returns the Worker. It has no command, so v1 lets it sleep until the launcher starts processes in it.
func (c *conversion) worker(template map[string]any, w workers) map[string]any {
	own, _ := clone(template).(map[string]any)
	pod := object(own, "spec")
	delete(pod, "restartPolicy")
	if main := firstContainer(pod); main != nil {
		delete(main, "command")
		delete(main, "args")
		if w.units > 0 {
			c.limit(main, w)
		}
	}
	c.moved("spec.template", inWorker+".template")
	if w.from != "" {
		c.moved(w.from, inWorker+".replicas")
	}
	c.filled(inWorker+".restartPolicy", "Always, as the workers of MPIJobs of kubeflow.org/v1alpha1 are a StatefulSet")
	return map[string]any{"replicas": w.replicas, "restartPolicy": "Always", "template": own}
}

// limit sets the processing units of a worker, unless its resources are malformed.
func (c *conversion) limit(container map[string]any, w workers) {
	for _, of := range []string{"limits", "requests"} {
		resources, ok := container["resources"].(map[string]any)
		if !ok && container["resources"] != nil {
			return
		}
		amounts, ok := resources[of].(map[string]any)
		if !ok && resources[of] != nil || of == "requests" && amounts[w.resource] == nil {
			return
		}
		if resources == nil {
			resources = map[string]any{}
			container["resources"] = resources
		}
		if amounts == nil {
			amounts = map[string]any{}
			resources[of] = amounts
		}
		amounts[w.resource] = w.units
		c.filled(fmt.Sprintf("%s.template.spec.containers[0].resources.%s[%q]", inWorker, of, w.resource), strconv.FormatInt(w.units, 10)+", the processing units of a worker")
	}
}

// firstContainer returns the first container of a pod, in which processes run; nil if there is none.
func firstContainer(pod map[string]any) map[string]any {
	containers, _ := pod["containers"].([]any)
	if len(containers) == 0 {
		return nil
	}
	first, _ := containers[0].(map[string]any)
	return first
}

// limitOf returns the limit of a resource if it is an integer in the range of slots; else 0.
func limitOf(container map[string]any, resource string) int64 {
	raw := object(object(container, "resources"), "limits")[resource]
	n, ok := raw.(int64)
	if text, is := raw.(string); is {
		parsed, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		n, ok = parsed, err == nil
	}
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}
