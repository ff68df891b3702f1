package generated

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Update writes the files that are missing or differ, by their paths, and creates the folders that they need. With check it writes
// nothing. It returns the paths of those files, sorted.
func Update(files map[string][]byte, check bool) (stale []string, err error) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		there, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return stale, fmt.Errorf("read a generated file: %w", err)
		}
		if err == nil && bytes.Equal(there, files[path]) {
			continue
		}
		if stale = append(stale, path); check {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return stale, fmt.Errorf("make the folder of a generated file: %w", err)
		}
		if err := os.WriteFile(path, files[path], 0o644); err != nil {
			return stale, fmt.Errorf("write a generated file: %w", err)
		}
	}
	return stale, nil
}
