package seeded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patched returns the files that the bug changes, by their path below root, with the bug in them.
func (b Bug) Patched(root string) (map[string]string, error) {
	patched := map[string]string{}
	for _, e := range b.Edits {
		text, known := patched[e.File]
		if !known {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return nil, fmt.Errorf("switch %s on: %w", b.Name, err)
			}
			text = string(data)
		}
		changed, err := e.apply(text)
		if err != nil {
			return nil, fmt.Errorf("switch %s on: %s: %w", b.Name, e.File, err)
		}
		patched[e.File] = changed
	}
	return patched, nil
}

// apply replaces whole lines.
func (e Edit) apply(text string) (string, error) {
	at, found := 0, 0
	for start := 0; start < len(text) && e.Before != ""; {
		if strings.HasPrefix(text[start:], e.Before) {
			at, found = start, found+1
		}
		end := strings.IndexByte(text[start:], '\n')
		if end < 0 {
			break
		}
		start += end + 1
	}
	if found != 1 {
		return "", fmt.Errorf("what is to be replaced stands there %d times, want once; the code has changed, so the bug must be written anew:\n%s", found, e.Before)
	}
	return text[:at] + e.After + text[at+len(e.Before):], nil
}

// Overlay writes the patched sources into dir, and beside them the file for go build -overlay, whose name it returns.
func (b Bug) Overlay(root, dir string) (file string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	patched, err := b.Patched(root)
	if err != nil {
		return "", err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for source, text := range patched {
		copied := filepath.Join(dir, strings.ReplaceAll(source, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("write a patched source: %w", err)
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(source))] = copied
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("write the overlay of %s: %w", b.Name, err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("write the overlay of %s: %w", b.Name, err)
	}
	return file, nil
}
