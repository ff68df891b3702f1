package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

const (
	// memoryShare is the percentage of the container's memory that the Go runtime tries to stay within. The rest is for what the runtime
	// does not count: the program itself, the kernel's buffers of its connections.
	memoryShare = 90
	// minMemory is the lowest limit that is used: a collector that tries to keep a lower one never stops.
	minMemory = 16 << 20
	// wordyFile bounds what is read of a file that says which control group a process is in, or what its limit is.
	wordyFile = 64 << 10
)

// KeepWithinMemory sets the memory limit of the Go runtime from that of the container, unless GOMEMLIMIT is set.
func KeepWithinMemory(log *zap.Logger) {
	keepWithin(os.DirFS("/"), os.Getenv("GOMEMLIMIT"), debug.SetMemoryLimit, log)
}

// keepWithin makes the garbage collector work harder before the kernel would end the process, if the container has a memory limit.
// GOMEMLIMIT takes precedence.
func keepWithin(root fs.FS, explicit string, set func(int64) int64, log *zap.Logger) {
	if explicit != "" {
		return
	}
	limit, err := containerMemory(root)
	switch {
	case err != nil:
		log.Warn("the memory limit of the container cannot be read; GOMEMLIMIT is not set", zap.Error(err))
	case limit < minMemory: // 0 is none
	default:
		soft := limit / 100 * memoryShare
		set(soft)
		log.Info("memory", zap.Int64("containerLimit", limit), zap.Int64("GOMEMLIMIT", soft))
	}
}

// containerMemory returns the lowest memory limit of the control groups that the process is in, or 0 if none has one or this is not
// Linux. Both versions of control groups are read, as a machine may have both. A container that sees only its own group finds it at the
// top, whatever its path is.
func containerMemory(root fs.FS) (int64, error) {
	groups, err := readShort(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	least := int64(0)
	for line := range strings.Lines(groups) {
		// hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, file := "sys/fs/cgroup", "memory.max"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			top, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			limit, err := memoryLimit(root, path.Join(top, group, file))
			if err != nil {
				return 0, err
			}
			if limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return least, nil
}

// memoryLimit reads one limit; 0 is none. Version 1 writes "none" as the largest number of whole pages.
func memoryLimit(root fs.FS, file string) (int64, error) {
	text, err := readShort(root, file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, nil
	}
	limit, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: found %.40q, must be a number of bytes", file, text)
	}
	if limit > math.MaxInt64/2 {
		return 0, nil
	}
	return int64(limit), nil
}

func readShort(root fs.FS, file string) (string, error) {
	f, err := root.Open(file)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", file, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, wordyFile))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return string(bytes.ToValidUTF8(text, nil)), nil
}
