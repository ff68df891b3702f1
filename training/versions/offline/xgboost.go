package offline

import (
	"fmt"
	"slices"
)

// xgboost converts the group of xgboost-operator, which spells runPolicy as RunPolicy and has another container name.
func xgboost(c *conversion) {
	spec := c.spec()
	if policy, ok := spec["RunPolicy"]; ok {
		c.lose("runPolicy", "XGBoostJobs of xgboostjob.kubeflow.org have `RunPolicy`, which counted")
		delete(spec, "RunPolicy")
		spec["runPolicy"] = policy
		c.moved("spec.RunPolicy", "spec.runPolicy")
	}
	const field, was, is = "xgbReplicaSpecs", "xgboostjob", "xgboost"
	for _, rtype := range []string{"Master", "Worker"} {
		pod := object(object(object(object(spec, field), rtype), "template"), "spec")
		containers, _ := pod["containers"].([]any)
		named := func(name string) int {
			return slices.IndexFunc(containers, func(raw any) bool {
				container, _ := raw.(map[string]any)
				return container["name"] == name
			})
		}
		if i := named(was); i >= 0 && named(is) < 0 {
			container, _ := containers[i].(map[string]any)
			container["name"] = is
			c.filled(fmt.Sprintf("spec.%s.%s.template.spec.containers[%d].name", field, rtype, i), is+" instead of "+was+", as v1 looks for that")
		}
	}
}
