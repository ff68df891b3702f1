package kinds

import (
	"encoding/json"
	"fmt"
	"strconv"

	"stoic/schema"
	"stoic/training"
)

const (
	// variableLimit is the longest NAME=value, in bytes, that Linux passes to a process (MAX_ARG_STRLEN, 32 pages, with
	// its closing NUL). A longer one keeps every container from starting.
	variableLimit = 131072 - 1
	// podLimit bounds the environment that is added to a pod, in bytes. No API server stores more than 1.5 MiB of one object.
	podLimit = 1 << 20
)

// variableTooLong returns the Want of the problem of a variable that exceeds variableLimit.
func variableTooLong() string {
	return fmt.Sprintf("stay within %d bytes, the longest environment variable that Linux passes to a process", variableLimit)
}

// atLeastOne returns a problem if the replica type that decides the end of a job has no replicas: the job would never end.
// field is the path of all replica types.
func atLeastOne(field string, rtype *training.ReplicaType, hint string) []schema.Problem {
	if rtype.Replicas >= 1 {
		return nil
	}
	return []schema.Problem{{Code: schema.ReplicaCount, Path: field + "." + rtype.Name + ".replicas", Found: "number " + strconv.Itoa(rtype.Replicas),
		Want: "be at least 1", Hint: hint}}
}

// sizes returns problems of environments that are too large: values that the user writes once are repeated in every container
// of every pod. field returns the path of the field, of unbounded length, that a variable is built from.
func sizes(job *training.Job, field func(variable string) string) (problems []schema.Problem) {
	const around, source = len(`{"name":"","value":""},`), len(`From":{"fieldRef":{"fieldPath":""}}`)
	environment := job.Kind.Environment(job)
	for i := range job.ReplicaTypes {
		rtype := &job.ReplicaTypes[i]
		size := 0
		for _, v := range environment(rtype, 0) {
			length := len(v.Name) + len("=") + len(v.Value)
			if length > variableLimit && i == 0 {
				problems = append(problems, schema.Problem{Code: schema.TooLarge, Path: field(v.Name), Found: fmt.Sprintf("%d bytes", len(v.Value)),
					Want: variableTooLong()})
			}
			size += length + around
			if v.Field != "" {
				size += len(v.Field) + source
			}
		}
		if i == 0 && len(problems) > 0 {
			return problems
		}
		if size*(1+len(rtype.Template)/leastContainer) <= podLimit {
			continue // also if the template were nothing but containers
		}
		if n := containersIn(rtype.Template); n > 1 && size*n > podLimit {
			problems = append(problems, schema.Problem{Code: schema.TooLarge, Path: "spec." + job.Kind.ReplicaSpecsField + "." + rtype.Name + ".template.spec.containers",
				Found: fmt.Sprintf("%d containers, which get %d bytes of environment each", n, size),
				Want:  fmt.Sprintf("get at most %d bytes in all", podLimit), Hint: "use fewer containers"})
		}
	}
	return problems
}

// leastContainer is the minimum size of a container in a template, in bytes.
const leastContainer = len(`{"image":"a","name":"a"},`)

func containersIn(template []byte) int {
	var pod struct {
		Spec struct{ Containers []struct{} }
	}
	_ = json.Unmarshal(template, &pod) // the converter made it; what is no template has no containers
	return len(pod.Spec.Containers)
}

// digitsBelow returns the number of digits in 0, 1, ..., n-1 together.
func digitsBelow(n int) int {
	sum := 0
	for width, from, to := 1, 0, 10; from < n; width, from, to = width+1, to, to*10 {
		sum += width * (min(n, to) - from)
	}
	return sum
}

// deref returns the pointed-to value, or the zero value for nil.
func deref[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}
