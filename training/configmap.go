package training

import (
	"fmt"

	"stoic/schema"
)

// ConfigMapLimit is the most, in bytes, that the API server stores in a ConfigMap.
const ConfigMapLimit = 1 << 20

// ConfigMapTooLarge returns the problem of a job whose ConfigMap would exceed ConfigMapLimit. The API server never stores
// such a ConfigMap, so without this check the operator would retry forever.
func ConfigMapTooLarge(path string, workers, size int) schema.Problem {
	return schema.Problem{Code: schema.TooLarge, Path: path,
		Found: fmt.Sprintf("%d workers, whose names take %d bytes in the ConfigMap of the launcher", workers, size),
		Want:  fmt.Sprintf("stay within %d bytes", ConfigMapLimit), Hint: "use fewer workers with more slots, or a shorter name"}
}
