package program

import (
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestContainerMemory(t *testing.T) {
	const v1None = "9223372036854771712\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
		wrong string
	}{
		"no Linux":              {nil, 0, ""},
		"version 2, in a pod":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30, ""},
		"version 2, no limit":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, ""},
		"version 2, top of all": {map[string]string{"proc/self/cgroup": "0::/\n"}, 0, ""},
		"version 2, the host's tree: the least counts": {map[string]string{"proc/self/cgroup": "0::/kubepods/pod1/c1\n",
			"sys/fs/cgroup/kubepods/memory.max": "8589934592\n", "sys/fs/cgroup/kubepods/pod1/memory.max": "536870912\n",
			"sys/fs/cgroup/kubepods/pod1/c1/memory.max": "max\n"}, 512 << 20, ""},
		"version 2, a group out of sight": {map[string]string{"proc/self/cgroup": "0::/../../elsewhere\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30, ""},
		"version 1, in a pod": {map[string]string{"proc/self/cgroup": "12:pids:/a\n4:cpu,memory:/kubepods/pod1/c1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 256 << 20, ""},
		"version 1, no limit":    {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": v1None}, 0, ""},
		"both":                   {map[string]string{"proc/self/cgroup": "4:memory:/\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456", "sys/fs/cgroup/memory.max": "max"}, 256 << 20, ""},
		"more than a number":     {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999999999999\n"}, 0, "must be a number of bytes"},
		"nonsense":               {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "plenty\n"}, 0, `found "plenty", must be a number of bytes`},
		"less than nothing":      {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "-1\n"}, 0, "must be a number of bytes"},
		"lines of another shape": {map[string]string{"proc/self/cgroup": "\n::\nmemory\n7:name=systemd:/x\n\xff\n"}, 0, ""},
	} {
		root := fstest.MapFS{}
		for file, text := range test.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := containerMemory(root)
		if got != test.want || (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %d, %v, want %d, %q", name, got, err, test.want, test.wrong)
		}
	}
}

// TestKeepWithin: nine tenths of the container's limit are set, and logged in one line; nothing is set without a limit,
// or if GOMEMLIMIT is set.
func TestKeepWithin(t *testing.T) {
	for name, test := range map[string]struct {
		limit, explicit string
		want            int64
		lines           int
	}{
		"a limit":       {"1000000000", "", 900_000_000, 1},
		"told already":  {"1000000000", "2GiB", 0, 0},
		"no limit":      {"max", "", 0, 0},
		"hardly any":    {"4096", "", 0, 0},
		"not readable":  {"plenty", "", 0, 1},
		"told to be so": {"plenty", "off", 0, 0},
	} {
		core, lines := observer.New(zap.InfoLevel)
		var got int64
		keepWithin(fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/")}, "sys/fs/cgroup/memory.max": {Data: []byte(test.limit)}},
			test.explicit, func(n int64) int64 { got = n; return 0 }, zap.New(core))
		if got != test.want || lines.Len() != test.lines {
			t.Errorf("%s: limit %d, lines %v, want %d and %d lines", name, got, lines.All(), test.want, test.lines)
		}
	}
}
