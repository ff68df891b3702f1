package consistency

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer is the later of two resourceVersions. Versions that cannot be compared bound nothing.
func Newer(a, b string) string {
	if a == "" {
		return b
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil && c < 0 {
		return b
	}
	return a
}

// Reached says whether a cache has seen a version. A cache that reports no version is trusted.
func Reached(cache, required string) bool {
	if required == "" || cache == "" {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(cache, required)
	return err != nil || c >= 0
}
