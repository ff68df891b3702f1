package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
)

// rejected is the end of an invalid example.
const rejected = "Rejected"

// state returns the state of a job, in the words of the examples, and its message.
func state(status *training.Status) (word, sentence string) {
	if len(status.Conditions) == 0 {
		return "", ""
	}
	last := status.Conditions[len(status.Conditions)-1]
	if last.Type == training.Failed && last.Reason == training.ReasonInvalidSpec {
		return rejected, last.Message
	}
	return string(last.Type), last.Message
}

// follow watches the examples until each has ended, prints one line per change, and returns how many ended differently from what they
// state.
func (s *stage) follow(ctx context.Context, jobs []example) (wrong int, err error) {
	s.talk.say("following %d jobs", len(jobs))
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, errTooSlow)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.Kubeconfig())
	if err != nil {
		return 0, fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0, fmt.Errorf("make a client: %w", err)
	}
	open := map[string]example{} // those that have not ended, by key
	for _, e := range jobs {
		open[e.key()] = e
	}
	seen := map[string]string{}
	for len(open) > 0 {
		err := s.watchOnce(ctx, client, open, seen, &wrong)
		if errors.Is(err, errTooSlow) {
			return wrong, fmt.Errorf("%w (--timeout %s): %s", errTooSlow, s.limit, strings.Join(slices.Sorted(maps.Keys(open)), ", "))
		}
		if err != nil {
			return wrong, err
		}
	}
	return wrong, nil
}

var (
	errTooSlow = errors.New("these examples did not end in time")
	// errOperatorEnded comes with the operator's own error, which up joins to it.
	errOperatorEnded = errors.New("the operator ended by itself")
)

// watchOnce runs one watch of each kind, until all have ended or the server ends one.
func (s *stage) watchOnce(ctx context.Context, client dynamic.Interface, open map[string]example, seen map[string]string, wrong *int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heads, over := make(chan *training.Head), make(chan struct{}, len(open))
	for _, kind := range kindsOf(slices.Collect(maps.Values(open))) {
		events, err := client.Resource(runtimeschema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.Plural}).
			Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("watch the %s: %w", kind.Plural, err)
		}
		defer events.Stop()
		go func() {
			defer func() { over <- struct{}{} }()
			for event := range events.ResultChan() {
				raw, ok := event.Object.(*unstructured.Unstructured)
				if !ok {
					continue
				}
				select {
				case heads <- convert.Object(kind, raw).Head:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for len(open) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.cluster.Done():
			return fmt.Errorf("the control plane ended by itself: %w", s.cluster.Err())
		case <-s.stopped:
			return errOperatorEnded
		case <-over:
			return nil
		case head := <-heads:
			s.note(head, open, seen, wrong)
		}
	}
	return nil
}

func (s *stage) note(head *training.Head, open map[string]example, seen map[string]string, wrong *int) {
	key := head.Kind.Name + "/" + head.Key()
	word, sentence := state(&head.Status)
	e, following := open[key]
	if !following || word == "" || seen[key] == word {
		return
	}
	seen[key] = word
	s.talk.say("  %-16s %-10s %s", head.Meta.Name, word, schema.Cut(sentence, 110))
	if word != rejected && head.Status.Terminal() == "" {
		return
	}
	delete(open, key)
	if word != e.expect {
		*wrong++
		s.talk.say("  %-16s WRONG: it should have ended %s", head.Meta.Name, e.expect)
	}
}

// report prints the jobs, the events of the rejected ones, the objects of other operators, and some metrics, each with the command that
// shows it.
func (s *stage) report(ctx context.Context, jobs []example) error {
	if err := s.awaitGuests(ctx); err != nil {
		return err
	}
	wrong := slices.DeleteFunc(slices.Clone(jobs), func(e example) bool { return e.expect != rejected })
	var keys []string
	for _, e := range wrong {
		keys = append(keys, e.key())
	}
	if err := s.untilReported(ctx, keys); err != nil {
		return err
	}
	if err := s.kubectl.show(ctx, s.out, "get", plurals(), "-A"); err != nil {
		return err
	}
	for _, kind := range kindsOf(wrong) {
		if err := s.showEvents(ctx, kind.Reason(training.ReasonFailedValidation)); err != nil {
			return err
		}
	}
	if err := s.reportGuests(ctx); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n$ curl -s http://%s/metrics | grep training_operator_jobs\n", s.metrics)
	return s.scrape(ctx, func(line string) {
		if strings.HasPrefix(line, "training_operator_jobs") {
			fmt.Fprintln(s.out, line)
		}
	})
}

// showEvents prints the warnings of a reason.
func (s *stage) showEvents(ctx context.Context, reason string) error {
	return s.kubectl.show(ctx, s.out, "get", "events", "-A", "--field-selector", "type=Warning,reason="+reason,
		"-o", "custom-columns=TYPE:.type,OBJECT:.involvedObject.name,MESSAGE:.message")
}

// untilReported waits until every malformed object, KIND/NAMESPACE/NAME, has its event: conditions are written first, events follow.
func (s *stage) untilReported(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("the events did not come"))
	defer cancel()
	for {
		out, err := s.kubectl.output(ctx, "get", "events", "-A", "-o", `jsonpath={range .items[?(@.type=="Warning")]}{.involvedObject.kind}/{.involvedObject.namespace}/{.involvedObject.name}{"\n"}{end}`)
		if err != nil {
			return err
		}
		missing := slices.ContainsFunc(keys, func(key string) bool { return !strings.Contains("\n"+out, "\n"+key+"\n") })
		if !missing {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// scrape reads the operator's metrics line by line.
func (s *stage) scrape(ctx context.Context, line func(string)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return fmt.Errorf("ask for metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask for metrics: %w", err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(response.Body, 4<<20))
	for lines.Scan() {
		line(lines.Text())
	}
	return lines.Err()
}
