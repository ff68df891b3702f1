package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	// askFor is how long the API server may take to answer both questions about one request.
	askFor = 5 * time.Second
	// askQPS and askBurst bound what callers can make this process ask of the API server.
	askQPS, askBurst = 5, 10
	// trustFor is how long a positive answer is cached, and so how long a revoked token or right still works; doubtFor is the same for a
	// negative answer.
	trustFor, doubtFor = time.Minute, 10 * time.Second
	// remembered bounds each of the caches.
	remembered = 256
)

// Gate lets a request through if its bearer token belongs to a user who has the right to that path.
//
//	the request has                          the answer is
//	no bearer token, or an unknown one       401
//	the token of a user without the right    403
//	a token, and the API server does not     503: the scrape fails and is not let through
//	say whose it is, or what its user may
type Gate struct {
	tokens  authenticationclient.TokenReviewInterface
	rights  authorizationclient.SubjectAccessReviewInterface
	log     *zap.Logger
	seldom  rate.Sometimes        // limits the log lines of a request that anybody can make
	users   *cache.LRUExpireCache // authenticationv1.UserInfo by the hash of a token
	unknown *cache.LRUExpireCache // separate from users: a flood of wrong tokens evicts no right one
	may     *cache.LRUExpireCache // bool by question
}

// NewGate makes a gate and connects to nothing. Its client is separate from the operator's others: no scraper uses up their rate.
func NewGate(config *rest.Config, log *zap.Logger) (*Gate, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst, c.RateLimiter, c.Timeout = askQPS, askBurst, nil, askFor
	tokens, err := authenticationclient.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client for token reviews: %w", err)
	}
	rights, err := authorizationclient.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client for access reviews: %w", err)
	}
	return &Gate{tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), log: log, seldom: rate.Sometimes{Interval: time.Minute},
		users: cache.NewLRUExpireCache(remembered), unknown: cache.NewLRUExpireCache(remembered), may: cache.NewLRUExpireCache(remembered)}, nil
}

// Guard puts the gate before a handler.
func (g *Gate) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askFor)
		defer cancel()
		user, err := g.who(ctx, r)
		if err == nil && user == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no bearer token that the API server knows", http.StatusUnauthorized)
			return
		}
		allowed := false
		if err == nil {
			allowed, err = g.allows(ctx, user, r)
		}
		switch {
		case err != nil:
			g.seldom.Do(func() {
				g.log.Warn("a scraper is turned away, as the API server does not say who it is and whether it may", zap.Error(err))
			})
			http.Error(w, "the API server does not say whether you may", http.StatusServiceUnavailable)
		case !allowed:
			http.Error(w, fmt.Sprintf("%q may not %s %s", user.Username, verbOf(r), r.URL.Path), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// who returns the user who makes a request; nil if that is not known.
func (g *Gate) who(ctx context.Context, r *http.Request) (*authenticationv1.UserInfo, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return nil, nil
	}
	hash := sha256.Sum256([]byte(token)) // no token is kept
	if user, ok := g.users.Get(hash); ok {
		return user.(*authenticationv1.UserInfo), nil
	}
	if _, ok := g.unknown.Get(hash); ok {
		return nil, nil
	}
	review, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create a TokenReview: %w", err)
	}
	if !review.Status.Authenticated { // with or without an error of its own, which says why
		g.unknown.Add(hash, nil, doubtFor)
		return nil, nil
	}
	g.users.Add(hash, &review.Status.User, trustFor)
	return &review.Status.User, nil
}

// allows reports whether a user has the right to what the request asks for.
func (g *Gate) allows(ctx context.Context, user *authenticationv1.UserInfo, r *http.Request) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: verbOf(r)}}
	for name, values := range user.Extra {
		spec.Extra[name] = authorizationv1.ExtraValue(values)
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("write a SubjectAccessReview as JSON: %w", err)
	}
	if known, ok := g.may.Get(string(key)); ok {
		return known.(bool), nil
	}
	review, err := g.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("create a SubjectAccessReview: %w", err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied // what stopped the evaluation half way has not allowed it
	g.may.Add(string(key), allowed, map[bool]time.Duration{true: trustFor, false: doubtFor}[allowed])
	return allowed, nil
}

// verbOf returns the verb of a request as roles name it.
func verbOf(r *http.Request) string { return strings.ToLower(r.Method) }
