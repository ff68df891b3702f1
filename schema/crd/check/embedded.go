package check

import (
	"reflect"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubernetesTypes returns the fields of each of Kubernetes' own types that definitions embed most, by name of a field.
var kubernetesTypes = sync.OnceValue(func() map[string][]map[string]bool {
	types := map[reflect.Type]map[string]bool{}
	for _, root := range []any{corev1.PodTemplateSpec{}, corev1.PersistentVolumeClaim{}, corev1.ServiceSpec{}, corev1.ObjectReference{}, metav1.LabelSelector{},
		appsv1.DeploymentSpec{}, appsv1.StatefulSetSpec{}, batchv1.JobSpec{}, autoscalingv2.HorizontalPodAutoscalerSpec{}, networkingv1.IngressSpec{},
		networkingv1.NetworkPolicySpec{}, policyv1.PodDisruptionBudgetSpec{}, rbacv1.PolicyRule{}} {
		collectTypes(reflect.TypeOf(root), types)
	}
	byField := map[string][]map[string]bool{}
	for _, fields := range types {
		for name := range fields {
			byField[name] = append(byField[name], fields)
		}
	}
	return byField
})

// collectTypes adds a struct and those that its fields lead to.
func collectTypes(t reflect.Type, types map[reflect.Type]map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collectTypes(t.Elem(), types)
		return
	case reflect.Struct:
	default:
		return
	}
	if types[t] != nil || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	fields := map[string]bool{}
	types[t] = fields
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = true
		}
		collectTypes(field.Type, types)
		if field.Anonymous && name == "" { // such as the source of a volume
			embedded := field.Type
			if embedded.Kind() == reflect.Struct {
				for inner := range types[embedded] {
					fields[inner] = true
				}
			}
		}
	}
}

// isEmbedded reports whether a node describes one of Kubernetes' own types, in this version of Kubernetes or another: the author of the
// definition took it as it is. It has at least three fields, at least half of those of the type, and hardly another.
func isEmbedded(node *crdv1.JSONSchemaProps) bool {
	if len(node.Properties) < 3 {
		return false
	}
	for name := range node.Properties {
		for _, fields := range kubernetesTypes()[name] {
			common := 0
			for field := range node.Properties {
				if fields[field] {
					common++
				}
			}
			if common*2 >= len(fields) && common*10 >= len(node.Properties)*9 {
				return true
			}
		}
	}
	return false
}
