package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"stoic/schema"
	"stoic/training"
)

// podServer asks an API server about the pods of jobs, by dry runs. It creates nothing.
type podServer struct {
	client    dynamic.Interface
	namespace string // of jobs that name none
	asked     error  // why it could not ask; it is not asked again
}

func (f *validateFlags) newPodServer() (*podServer, error) {
	config, namespace, err := f.cluster.open()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &podServer{client: client, namespace: namespace}, nil
}

// job returns what an API server refuses of the pods of a job's replica types.
func (s *podServer) job(ctx context.Context, kind *training.Kind, fields map[string]any) (problems []schema.Problem) {
	spec, _ := fields["spec"].(map[string]any)
	replicas, _ := spec[kind.ReplicaSpecsField].(map[string]any)
	meta, _ := fields["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	if namespace == "" {
		namespace = s.namespace
	}
	for _, rtype := range slices.Sorted(maps.Keys(replicas)) {
		replica, _ := replicas[rtype].(map[string]any)
		template, ok := replica["template"].(map[string]any)
		if !ok || s.asked != nil {
			continue
		}
		at := joined("spec."+kind.ReplicaSpecsField, stepOf(rtype)) + ".template"
		problems = append(problems, s.pod(ctx, namespace, template, at)...)
	}
	return problems
}

// pod asks about one pod, by the template at a path.
func (s *podServer) pod(ctx context.Context, namespace string, template map[string]any, at string) (problems []schema.Problem) {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod"}
	if spec, ok := template["spec"].(map[string]any); ok {
		pod["spec"] = spec
	}
	meta := map[string]any{"generateName": "stoic-validate-"}
	if given, ok := template["metadata"].(map[string]any); ok {
		for _, key := range []string{"labels", "annotations"} {
			if given[key] != nil {
				meta[key] = given[key]
			}
		}
	}
	pod["metadata"] = meta
	_, err := s.client.Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).
		Create(ctx, &unstructured.Unstructured{Object: pod}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case isNoPermission(err) || !errors.As(err, &status):
		s.asked = fmt.Errorf("ask the API server about pods in namespace %s: %w", namespace, err)
		return nil
	}
	if details := status.Status().Details; apierrors.IsInvalid(err) && details != nil {
		for _, cause := range details.Causes {
			problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: joined(at, pathOf(cause.Field)), Want: serverSays(cause.Message)})
		}
	}
	if len(problems) == 0 {
		problems = []schema.Problem{{Code: schema.InvalidValue, Path: at, Want: serverSays(status.Status().Message)}}
	}
	return problems
}

func serverSays(message string) string {
	return "be accepted by the API server, which says: " + schema.Clean(message, 300)
}

// isNoPermission reports whether the user may not create pods. An admission plugin refuses a pod with the same status, and other words.
func isNoPermission(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource")
}
