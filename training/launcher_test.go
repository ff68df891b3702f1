package training

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLauncherCommandOf(t *testing.T) {
	const script = "/etc/mpi/discover_hosts.sh"
	type texts = []string
	for name, c := range map[string]struct {
		command, args texts
		want          LauncherCommand
	}{
		"nothing":           {},
		"static":            {texts{"mpirun"}, texts{"-np", "4", "python"}, LauncherCommand{Processes: 4, Argument: "-np", Field: "args"}},
		"elastic":           {texts{"horovodrun", "--min-np", "1", "--host-discovery-script", script, "python"}, nil, LauncherCommand{true, 1, "--min-np", "command"}},
		"in two fields":     {texts{"horovodrun", "-np"}, texts{"6", "--min-np", "2", "--host-discovery-script", script}, LauncherCommand{true, 2, "--min-np", "args"}},
		"with =":            {nil, texts{"--min-np=3", "--host-discovery-script=" + script}, LauncherCommand{true, 3, "--min-np", "args"}},
		"other names":       {nil, texts{"--num-proc", "8", "--min-num-proc", "4", "--host-discovery-script", script}, LauncherCommand{true, 4, "--min-num-proc", "args"}},
		"all processes":     {nil, texts{"-np", "6", "--host-discovery-script", script}, LauncherCommand{true, 6, "-np", "args"}},
		"no number":         {nil, texts{"--host-discovery-script", script}, LauncherCommand{DiscoversHosts: true}},
		"in a shell":        {texts{"sh", "-c"}, texts{`exec horovodrun --min-np 2 --host-discovery-script ` + script + ` python train.py`}, LauncherCommand{true, 2, "--min-np", "args"}},
		"in quotes":         {nil, texts{`bash -c "horovodrun --min-np='2' --host-discovery-script=\"/d.sh\""`}, LauncherCommand{true, 2, "--min-np", "args"}},
		"in lines":          {texts{"bash", "-c", "set -e\nhorovodrun \\\n  --min-np \\\n  2 \\\n  --host-discovery-script \\\n  /d.sh python"}, nil, LauncherCommand{true, 2, "--min-np", "command"}},
		"tabs and CRs":      {nil, texts{"horovodrun\t--min-np\t2\r\n--host-discovery-script /d.sh"}, LauncherCommand{true, 2, "--min-np", "args"}},
		"in parentheses":    {nil, texts{"(horovodrun --host-discovery-script /d.sh --min-np 2); echo"}, LauncherCommand{true, 2, "--min-np", "args"}},
		"a comment":         {nil, texts{"horovodrun -np 2 # --host-discovery-script /d.sh\npython"}, LauncherCommand{Processes: 2, Argument: "-np", Field: "args"}},
		"of the program":    {nil, texts{"--min-np", "2", "--host-discovery-script", script, "python", "train.py", "--min-np", "9"}, LauncherCommand{true, 2, "--min-np", "args"}},
		"a variable":        {nil, texts{"-np", "4", "--min-np", "$MIN", "--host-discovery-script", script}, LauncherCommand{true, 0, "--min-np", "args"}},
		"not a number":      {nil, texts{"--min-np", "1.5", "--host-discovery-script", script}, LauncherCommand{true, 0, "--min-np", "args"}},
		"none":              {nil, texts{"--min-np", "0", "--host-discovery-script", script}, LauncherCommand{true, 0, "--min-np", "args"}},
		"less than none":    {nil, texts{"--min-np", "-1", "--host-discovery-script", script}, LauncherCommand{true, 0, "--min-np", "args"}},
		"more than a count": {nil, texts{"--min-np", "99999999999999999999", "--host-discovery-script", script}, LauncherCommand{true, math.MaxInt32, "--min-np", "args"}},
		"no value":          {nil, texts{"--host-discovery-script", "--min-np"}, LauncherCommand{true, 0, "--min-np", "args"}},
		"similar words":     {nil, texts{"--host-discovery-scripts", "--xmin-np", "2", "host-discovery-script"}, LauncherCommand{}},
		"other texts":       {nil, texts{"", " ", "\\", "\"", "=", "-", "--", "#", "\x00\xff", "--min-np="}, LauncherCommand{Argument: "--min-np", Field: "args"}},
	} {
		template, _ := json.Marshal(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"command": c.command, "args": c.args}, map[string]any{"args": []string{"--host-discovery-script"}}}}})
		if diff := cmp.Diff(c.want, LauncherCommandOf(template)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, template := range []string{"", "null", "{}", `{"spec":{"containers":{}}}`, `{"spec":{"containers":[null]}}`, `{"spec":{"containers":[{"args":[1,null]}]}}`} {
		if got := LauncherCommandOf([]byte(template)); got.DiscoversHosts {
			t.Errorf("%s: %+v", template, got)
		}
	}
	long, _ := json.Marshal(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"args": []string{strings.Repeat("--min-np --min-np= ", 50_000)}}}}})
	if got := LauncherCommandOf(long); got.Processes != 0 {
		t.Errorf("a long text: %+v", got)
	}
}

func TestLauncherMinimum(t *testing.T) {
	const discovers = `"--host-discovery-script","/d.sh"`
	for name, c := range map[string]struct {
		args                        string
		annotated                   int64
		slots, workers, want, hosts int
		warns                       bool
	}{
		"static":                         {`"-np","2"`, 0, 1, 6, 6, 6, false},
		"one process":                    {`"--min-np","1",` + discovers, 0, 1, 6, 1, 6, false},
		"slots":                          {`"--min-np","5",` + discovers, 0, 2, 6, 3, 6, false},
		"a slot of two":                  {`"--min-np","4",` + discovers, 0, 2, 6, 2, 6, false},
		"no slots":                       {`"--min-np","2",` + discovers, 0, 0, 6, 2, 6, false},
		"as many as there are":           {`"--min-np","12",` + discovers, 0, 2, 6, 6, 6, false},
		"more than there are":            {`"--min-np","13",` + discovers, 0, 2, 6, 6, 6, true},
		"more, but the launcher is one":  {`"--min-np","13",` + discovers, 0, 2, 6, 6, 7, false},
		"far more than there are":        {`"--min-np","99999999999",` + discovers, 0, math.MaxInt32, 6, 1, 6, false},
		"more of a static launcher":      {`"-np","13"`, 0, 2, 6, 6, 6, false},
		"no number":                      {discovers, 0, 1, 6, 6, 6, false},
		"all processes":                  {`"-np","2",` + discovers, 0, 1, 6, 2, 6, false},
		"annotated":                      {`"--min-np","4",` + discovers, 2, 1, 6, 2, 6, false},
		"annotated, though it is static": {`"-np","2"`, 3, 1, 6, 3, 6, false},
		"no workers":                     {`"--min-np","1",` + discovers, 0, 1, 0, 0, 0, false},
	} {
		job := &Job{Head: &Head{Kind: &Kind{ReplicaSpecsField: "specs"}}, ReplicaTypes: []ReplicaType{
			{KnownReplicaType: KnownReplicaType{Name: "Launcher"}, Replicas: 1, Template: []byte(`{"spec":{"containers":[{"args":[` + c.args + `]}]}}`)},
			{KnownReplicaType: KnownReplicaType{Name: "Worker"}, Replicas: c.workers}}}
		if c.annotated > 0 {
			job.Annotations = map[string]int64{AnnotationLauncherMinWorkers: c.annotated}
		}
		job.SetLauncherMinimum("Launcher", "Worker", c.slots)
		if got := job.ReplicaTypes[1].Needed(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if warnings := job.WarnOfLauncherMinimum("Launcher", c.hosts, c.slots); len(warnings) > 0 != c.warns {
			t.Errorf("%s: %v", name, warnings)
		}
	}
	(&Job{Head: &Head{Kind: &Kind{}}}).SetLauncherMinimum("Launcher", "Worker", 1) // nothing to set
}
