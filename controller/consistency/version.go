package consistency

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer returns the later of two resourceVersions, or a if they cannot be compared.
func Newer(a, b string) string {
	if a == "" {
		return b
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil && c < 0 {
		return b
	}
	return a
}

// Reached reports whether a cache has seen a version. A cache whose version is unknown, or cannot be compared, is
// trusted.
func Reached(cache, required string) bool {
	if required == "" || cache == "" {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(cache, required)
	return err != nil || c >= 0
}
