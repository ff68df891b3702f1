package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"stoic/schema"
)

// Migration is a migration of all objects of one kind. It is run once.
type Migration struct {
	// CRD is the name of the kind's CustomResourceDefinition: "tfjobs.kubeflow.org".
	CRD string
	// Manager is the field manager of the requests. It owns no field.
	Manager string
	// DryRun sends each write as a dry run, and changes nothing.
	DryRun bool
	// Again writes the objects even if the CRD says that none is stored in an old version.
	Again bool
	// Page is how many objects one answer to a LIST has; Patience is the shortest time between two lines on the progress.
	Page     int64
	Patience time.Duration
	// Talk gets lines for readers: the progress, and each object that could not be written.
	Talk io.Writer

	objects metadata.Interface
	crds    dynamic.Interface
	rights  kubernetes.Interface
	// pause waits before something is tried again. It is replaced in tests.
	pause func(context.Context, time.Duration) error
}

// New returns a migration by the API server that config names, with pages of 500.
func New(config *rest.Config, crd, manager string, talk io.Writer) (*Migration, error) {
	m := &Migration{CRD: crd, Manager: manager, Page: 500, Patience: 2 * time.Second, Talk: talk, pause: pause}
	var errs [3]error
	m.objects, errs[0] = metadata.NewForConfig(config)
	m.crds, errs[1] = dynamic.NewForConfig(config)
	m.rights, errs[2] = kubernetes.NewForConfig(config)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return m, nil
}

// Result is how far a migration has come.
type Result struct {
	// Version in which objects are stored from now on.
	Version string
	// Before and After are status.storedVersions of the CRD.
	Before, After []string
	// Written counts the objects that are stored in that version now, Gone those that were deleted meanwhile.
	Written, Gone int
	Failed        []Failure
	// Nothing: there was nothing to do.
	Nothing bool
}

// Failure is an object that could not be written.
type Failure struct {
	Namespace, Name string
	Err             error
}

// ErrIncomplete: some objects could not be written, so that status.storedVersions stays as it was.
var ErrIncomplete = errors.New("not all objects could be written")

// passes bounds how often all objects are listed. An object that is new in a pass was written by an API server that knows the present
// CRD, or is written in the next pass.
const passes = 5

// Run migrates. The result says how far it has come even if there is an error.
func (m *Migration) Run(ctx context.Context) (result Result, err error) {
	crd, err := m.definition(ctx)
	if err != nil {
		return result, err
	}
	k, err := kindOf(crd)
	if err != nil {
		return result, err
	}
	result.Version, result.Before, result.After = k.stored, crd.Status.StoredVersions, crd.Status.StoredVersions
	if slices.Equal(result.Before, []string{k.stored}) && !m.Again {
		if !migrationFailed(crd) {
			result.Nothing = true
			return result, nil
		}
		fmt.Fprintf(m.Talk, "the last StorageVersionMigration has failed, and status.storedVersions of %s may lack versions in which objects are stored: all are written again\n", m.CRD)
	}
	if err := m.mayDo(ctx, crd); err != nil {
		return result, err
	}
	done := map[types.UID]bool{}
	for pass := 1; ; pass++ {
		all, err := m.list(ctx, k)
		if err != nil {
			return result, fmt.Errorf("list the %s: %w", m.CRD, err)
		}
		all = slices.DeleteFunc(all, func(o object) bool { return done[o.uid] })
		if len(all) == 0 {
			break
		}
		if pass > passes {
			return result, fmt.Errorf("new %s have appeared in each of %d lists; run it again when fewer are made", m.CRD, passes)
		}
		if err := m.all(ctx, k, all, done, &result); err != nil {
			return result, err
		}
	}
	switch {
	case len(result.Failed) > 0:
		return result, fmt.Errorf("%w: %d of %d", ErrIncomplete, len(result.Failed), len(result.Failed)+result.Written)
	case m.DryRun:
		return result, nil
	}
	result.After, err = m.finish(ctx, crd)
	return result, err
}

// mostSaid bounds what is repeated of an answer of the API server, which may contain the text of webhooks and of objects.
const mostSaid = 2000

// inARow is how many objects in a row may fail for reasons that have nothing to do with them.
const inARow = 5

// all writes objects, and notes in done those that it has tried.
func (m *Migration) all(ctx context.Context, k kind, all []object, done map[types.UID]bool, result *Result) error {
	said, row := time.Now(), 0
	for i, o := range all {
		gone, err := m.rewrite(ctx, k, o)
		done[o.uid] = true
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			result.Failed = append(result.Failed, Failure{o.namespace, o.name, err})
			fmt.Fprintf(m.Talk, "%s: %s\n", o, schema.Clean(err.Error(), mostSaid))
			if row++; !aboutServer(err) {
				row = 0
			} else if row == inARow {
				return fmt.Errorf("%w: the last %d could not, for reasons that are not theirs: %w", ErrIncomplete, inARow, err)
			}
			continue
		case gone:
			result.Gone++
		default:
			result.Written++
		}
		row = 0
		if time.Since(said) >= m.Patience {
			said = time.Now()
			fmt.Fprintf(m.Talk, "%d of %d %s ...\n", i+1, len(all), m.CRD)
		}
	}
	return nil
}

// kind is what requests need to know of the kind.
type kind struct {
	name       string
	resource   runtimeschema.GroupVersionResource // in a served version
	stored     string
	namespaced bool
}

func kindOf(crd *apiextensionsv1.CustomResourceDefinition) (k kind, err error) {
	k = kind{name: crd.Spec.Names.Kind, namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		resource: runtimeschema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			k.stored = v.Name
		}
		if v.Served && (k.resource.Version == "" || v.Storage) {
			k.resource.Version = v.Name
		}
	}
	if k.stored == "" || k.resource.Version == "" {
		return k, fmt.Errorf("the CRD %s serves no version, so its objects cannot be written", crd.Name)
	}
	return k, nil
}

// object is one of the kind.
type object struct {
	namespace, name string
	uid             types.UID
}

func (o object) String() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// restarts bounds how often a list is begun again.
const restarts = 5

// list lists all objects. If an API server no longer knows the state that a page follows, its answer says how to continue with the
// present one; what is new by then is in the next pass.
func (m *Migration) list(ctx context.Context, k kind) (all []object, err error) {
	begun := 1
	for options := (metav1.ListOptions{Limit: m.Page}); ; {
		page, err := m.objects.Resource(k.resource).List(ctx, options)
		var status apierrors.APIStatus
		switch {
		case err == nil:
		case !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			return nil, err
		case errors.As(err, &status) && status.Status().Continue != "" && status.Status().Continue != options.Continue:
			options.Continue = status.Status().Continue
			continue
		case begun == restarts:
			return nil, err
		default:
			begun++
			options.Continue, all = "", nil
			continue
		}
		for i := range page.Items {
			all = append(all, object{page.Items[i].Namespace, page.Items[i].Name, page.Items[i].UID})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
