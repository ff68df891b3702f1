package apimodel

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
)

// traits are the differences between resources, apart from their schema.
type traits struct {
	custom        bool // it comes from a CRD
	graceful      bool // its deletion may take a while
	generations   bool // its spec has generations
	unconditional bool // an update need not name a resourceVersion
	echoes        bool // DELETE answers with the object, not with a Status
	noGC          bool // deletion ignores dependents
	validName     validation.ValidateNameFunc
}

// traitsOf returns what kube-apiserver 1.37 does. For a built-in resource that is not listed it is a guess.
func traitsOf(r Resource) traits {
	t := traits{validName: validation.NameIsDNSSubdomain}
	switch r.Group + "/" + r.Plural {
	case "/pods":
		t.graceful, t.generations, t.unconditional, t.echoes = true, true, true, true
	case "/services":
		t.unconditional, t.echoes, t.validName = true, true, validation.NameIsDNS1035Label
	case "/configmaps", "/secrets", "autoscaling/horizontalpodautoscalers":
		t.unconditional = true
	case "/serviceaccounts":
		t.unconditional, t.echoes = true, true
	case "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/rolebindings":
		t.unconditional, t.validName = true, func(name string, _ bool) []string { return path.IsValidPathSegmentName(name) }
	case "/events", "events.k8s.io/events":
		t.unconditional, t.noGC = true, true
	case "coordination.k8s.io/leases":
	default:
		t.custom = strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io")
		t.generations, t.unconditional = t.custom, !t.custom
	}
	return t
}
