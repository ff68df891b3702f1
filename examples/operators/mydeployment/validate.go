package mydeployment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/convert"
	"stoic/schema"
)

const (
	group       = "apps.example.com"
	hashLabel   = group + "/template-hash"
	longestName = 63 - len("-0123456789-0123456789") // pods are named NAME-HASH-ORDINAL
)

// rules returns the rules of a MyDeployment that the Go types do not express.
func rules() []convert.Option {
	return []convert.Option{convert.And[corev1.PodTemplateSpec]((*convert.Reader).PodTemplate), convert.And[metav1.LabelSelector]((*convert.Reader).Selector),
		convert.Verbatim(store, "spec", "template"), convert.Default(fill), convert.Validate(check),
		convert.Slim(func(d *MyDeployment) { d.Spec.Template = nil })} // pods are made of what store and fill keep
}

// store keeps the template, and its hash. The text is that of the stored object with sorted keys, so the hash is the same in
// every version of this program.
func store(d *MyDeployment, text []byte) {
	sum := sha256.Sum256(text)
	d.Spec.Stored, d.Spec.Hash = text, hex.EncodeToString(sum[:5])
}

// fill fills in the defaults, in case the CRD has none, and the labels of the template.
func fill(d *MyDeployment) {
	if d.Spec.Labels = d.Spec.Template.Labels; maps.Equal(d.Spec.Labels, d.Spec.Selector.MatchLabels) {
		d.Spec.Labels = d.Spec.Selector.MatchLabels // one map for both
	}
	replicas, deadline, share := int32(1), int32(600), intstr.FromString("25%")
	d.Spec.Replicas, d.Spec.ProgressDeadlineSeconds = cmp.Or(d.Spec.Replicas, &replicas), cmp.Or(d.Spec.ProgressDeadlineSeconds, &deadline)
	d.Spec.Strategy.MaxSurge, d.Spec.Strategy.MaxUnavailable = cmp.Or(d.Spec.Strategy.MaxSurge, &share), cmp.Or(d.Spec.Strategy.MaxUnavailable, &share)
}

// check checks what no rule of a single field can express.
func check(d *MyDeployment) (problems []schema.Problem) {
	found := func(code schema.Code, path, found, want string) {
		problems = append(problems, schema.Problem{Code: code, Path: path, Found: found, Want: want})
	}
	if len(d.Name) > longestName || len(validation.IsDNS1123Label(d.Name)) > 0 {
		found(schema.InvalidName, "metadata.name", schema.Quote(d.Name), "be a DNS label of at most 41 characters, as pods are named after it")
	}
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil {
		found(schema.InvalidValue, "spec.selector", "a selector that cannot be read ("+err.Error()+")", "select pods by their labels")
	} else if selector.Empty() {
		found(schema.MissingField, "spec.selector", "an empty selector", "select pods by their labels")
	} else if has := d.labels(); !selector.Matches(has) {
		found(schema.Conflict, "spec.template.metadata.labels", schema.Quote(has.String()), "match `spec.selector`, which is "+schema.Quote(selector.String()))
	}
	surge, _ := intstr.GetScaledValueFromIntOrPercent(d.Spec.Strategy.MaxSurge, 100, true)
	if unavailable, _ := intstr.GetScaledValueFromIntOrPercent(d.Spec.Strategy.MaxUnavailable, 100, true); surge == 0 && unavailable == 0 {
		found(schema.Conflict, "spec.strategy", "`maxSurge` and `maxUnavailable` that are both zero", "let one of them be more, or no pod could be replaced")
	}
	if *d.Spec.ProgressDeadlineSeconds <= d.Spec.MinReadySeconds {
		found(schema.OutOfRange, "spec.progressDeadlineSeconds", "", "be greater than `minReadySeconds`")
	}
	if policy := d.Spec.Template.Spec.RestartPolicy; cmp.Or(policy, corev1.RestartPolicyAlways) != corev1.RestartPolicyAlways {
		found(schema.InvalidValue, "spec.template.spec.restartPolicy", schema.Quote(string(policy)), `be "Always"`)
	}
	return problems
}

// labels returns the labels of the pods.
func (d *MyDeployment) labels() labels.Set {
	return labels.Merge(d.Spec.Labels, labels.Set{hashLabel: d.Spec.Hash})
}
