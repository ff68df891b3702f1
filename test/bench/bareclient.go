package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

var tfJobs = runtimeschema.GroupVersionResource{Group: kinds.TFJob().Group, Version: kinds.TFJob().Version, Resource: kinds.TFJob().Plural}

// The bare client works in parallel as Stoic does by default.
const (
	jobsAtOnce     = 8
	requestsAtOnce = 16
)

// bareClient does for TFJobs only what is indispensable: it creates the pods and services that Stoic creates, and writes two
// statuses, Running and the terminal one. It checks nothing, repairs nothing and emits no events. No operator can be cheaper.
type bareClient struct {
	core  corev1client.CoreV1Interface
	jobs  dynamic.NamespaceableResourceInterface
	slots chan struct{}

	mu    sync.Mutex
	known map[string]*bareJob // by namespace/name
}

// bareJob is a job that runs.
type bareJob struct {
	object    *unstructured.Unstructured
	replicaOf map[string]bareReplica // by replica type
	replicas  int
	phases    map[string]corev1.PodPhase // by the names of pods
	isRunning bool
	isOver    bool
	writing   sync.Mutex
}

// bareReplica is the part of a replica type's spec that the bare client reads.
type bareReplica struct {
	Replicas int                    `json:"replicas"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// runBareClient serves all namespaces until the context ends.
func runBareClient(ctx context.Context, config *rest.Config) error {
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	c := &bareClient{core: core, jobs: client.Resource(tfJobs), slots: make(chan struct{}, jobsAtOnce), known: map[string]*bareJob{}}
	ours := func(o *metav1.ListOptions) { o.LabelSelector = training.LabelOperator + "=" + kinds.TFJob().Controller }
	pods := cache.NewSharedInformer(cache.NewFilteredListWatchFromClient(core.RESTClient(), "pods", metav1.NamespaceAll, ours), &corev1.Pod{}, 0)
	onPod := func(object any) { c.observePod(ctx, object.(*corev1.Pod)) }
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: onPod, UpdateFunc: func(_, now any) { onPod(now) }}); err != nil {
		return err
	}
	jobs := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(tfJobs).Informer()
	onJob := func(object any) { c.observeJob(ctx, object.(*unstructured.Unstructured)) }
	if _, err := jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: onJob}); err != nil {
		return err
	}
	go pods.Run(ctx.Done())
	jobs.Run(ctx.Done())
	return nil
}

// observeJob creates the dependents of a new job.
func (c *bareClient) observeJob(ctx context.Context, object *unstructured.Unstructured) {
	if _, isDone, _ := unstructured.NestedString(object.Object, "status", "completionTime"); isDone {
		return
	}
	j := &bareJob{object: object, phases: map[string]corev1.PodPhase{}}
	specs, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "tfReplicaSpecs")
	if json.Unmarshal(schema.JSON(specs), &j.replicaOf) != nil {
		return // malformed
	}
	for _, replica := range j.replicaOf {
		j.replicas += replica.Replicas
	}
	c.mu.Lock()
	c.known[object.GetNamespace()+"/"+object.GetName()] = j
	c.mu.Unlock()
	go func() {
		c.slots <- struct{}{}
		defer func() { <-c.slots }()
		report(c.createDependents(ctx, j))
	}()
}

func (c *bareClient) createDependents(ctx context.Context, j *bareJob) error {
	var group errgroup.Group
	group.SetLimit(requestsAtOnce)
	namespace := j.object.GetNamespace()
	for _, rtype := range kinds.TFJob().ReplicaTypes {
		for i := range j.replicaOf[rtype.Name].Replicas {
			group.Go(func() error {
				_, err := c.core.Services(namespace).Create(ctx, j.service(rtype.Label, i), metav1.CreateOptions{})
				return err
			})
			group.Go(func() error {
				_, err := c.core.Pods(namespace).Create(ctx, j.pod(rtype.Name, rtype.Label, i), metav1.CreateOptions{})
				return err
			})
		}
	}
	return group.Wait()
}

// observePod records the phase of a pod, and the status of its job if that changes.
func (c *bareClient) observePod(ctx context.Context, pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.known[pod.Namespace+"/"+pod.Labels[training.LabelJob]]
	if j == nil || j.isOver {
		return
	}
	j.phases[pod.Name] = pod.Status.Phase
	started := 0
	for _, phase := range j.phases {
		if phase == corev1.PodRunning || phase == corev1.PodSucceeded {
			started++
		}
	}
	conditions := []training.ConditionType{training.Created}
	if j.isRunning {
		conditions = append(conditions, training.Running)
	}
	switch {
	case pod.Status.Phase == corev1.PodFailed:
		j.isOver = true
		conditions = append(conditions, training.Failed)
	case pod.Status.Phase == corev1.PodSucceeded && pod.Name == training.ChildName(j.object.GetName(), "worker", 0):
		j.isOver = true
		conditions = append(conditions, training.Succeeded)
	case started == j.replicas && !j.isRunning:
		j.isRunning = true
		conditions = append(conditions, training.Running)
	default:
		return
	}
	body := j.statusPatch(conditions, j.isOver)
	go func() {
		j.writing.Lock() // in their order
		defer j.writing.Unlock()
		_, err := c.jobs.Namespace(pod.Namespace).Patch(ctx, j.object.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
		report(err)
	}()
}

// statusPatch returns a patch with these conditions.
func (j *bareJob) statusPatch(types []training.ConditionType, isOver bool) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []any
	for _, t := range types {
		conditions = append(conditions, map[string]any{"type": t, "status": "True", "reason": "TFJob" + string(t),
			"message": "TFJob " + j.object.GetName() + " is " + string(t), "lastUpdateTime": now, "lastTransitionTime": now})
	}
	status := map[string]any{"startTime": j.object.GetCreationTimestamp(), "conditions": conditions}
	if isOver {
		status["completionTime"] = now
	}
	return schema.JSON(map[string]any{"status": status})
}

func (j *bareJob) objectMeta(label string, index int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: training.ChildName(j.object.GetName(), label, index),
		Labels: map[string]string{training.LabelOperator: kinds.TFJob().Controller, training.LabelJob: j.object.GetName(),
			training.LabelReplicaType: label, training.LabelReplicaIndex: strconv.Itoa(index)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j.object, j.object.GroupVersionKind())},
	}
}

func (j *bareJob) service(label string, index int) *corev1.Service {
	port := kinds.TFJob().Port
	meta := j.objectMeta(label, index)
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: meta.Labels,
		Ports: []corev1.ServicePort{{Name: port.Name, Port: port.Number}}}}
}

func (j *bareJob) pod(rtype, label string, index int) *corev1.Pod {
	template := j.replicaOf[rtype].Template
	pod := &corev1.Pod{ObjectMeta: j.objectMeta(label, index), Spec: *template.Spec.DeepCopy()}
	pod.Annotations = template.Annotations
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{Name: "TF_CONFIG", Value: j.config(label, index)})
	}
	return pod
}

// config returns TF_CONFIG.
func (j *bareJob) config(label string, index int) string {
	cluster := map[string][]string{}
	for _, rtype := range kinds.TFJob().ReplicaTypes {
		for i := range j.replicaOf[rtype.Name].Replicas {
			cluster[rtype.Label] = append(cluster[rtype.Label], training.Host(j.object.GetName(), j.object.GetNamespace(), rtype.Label, i, "")+":2222")
		}
	}
	return string(schema.JSON(map[string]any{"cluster": cluster, "task": map[string]any{"type": label, "index": index}, "environment": "cloud"}))
}

// report logs an error. Jobs are deleted while the client works on them.
func report(err error) {
	if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, context.Canceled) {
		log.Print(fmt.Errorf("bare client: %w", err))
	}
}
