package plans

import (
	"bytes"
	"maps"
	"slices"
)

func contains(body []byte, text string) bool { return text != "" && bytes.Contains(body, []byte(text)) }

// sortedNames returns a map's keys in order: lists of plans are the same in every run.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
