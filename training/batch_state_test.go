package training

import (
	"strings"
	"testing"
)

// TestBatchStateOf checks that all cached texts of a Job are bounded.
func TestBatchStateOf(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": long, "message": "m"}
	}
	s := BatchStateOf(map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationTemplate: long}}, "spec": map[string]any{"suspend": true, "backoffLimit": int64(3)},
		"status": map[string]any{"completionTime": "2026-01-01T00:00:00Z", "startTime": "x", "failed": int64(2), "conditions": []any{7, condition("Suspended", "True"), condition("Failed", "True"), condition("Complete", "False")}}})
	if s.End != BatchFailed || s.Message != "m" || len(s.Reason) > mostKept || !strings.HasPrefix(s.Reason, "ää") || len(s.TemplateHash) > mostKept {
		t.Errorf("%s, message %.20q, reason of %d bytes, hash of %d", s.End, s.Message, len(s.Reason), len(s.TemplateHash))
	}
	if !s.Suspended || !s.Started || s.Completed == nil || s.Backoff != (Limit{Set: true, Value: 3}) || s.Failed != 2 || s.Deadline.Set {
		t.Errorf("%+v", s)
	}
	for _, odd := range []map[string]any{nil, {"spec": 1, "status": "x"}, {"metadata": map[string]any{"annotations": []any{}}, "status": map[string]any{"conditions": "x", "completionTime": 7}}} {
		if s := BatchStateOf(odd); s.End != "" || s.Completed != nil || s.Reason+s.Message+s.TemplateHash != "" {
			t.Errorf("%v: %+v", odd, s)
		}
	}
}
