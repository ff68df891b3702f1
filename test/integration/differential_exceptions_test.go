package integration

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// exception is an intended disagreement.
type exception struct {
	what, reason string
	holds        func(finding) bool
}

// excuse returns the exception that covers a disagreement, if there is one. There is none for a pod that is rejected because of
// our additions.
func excuse(f finding) *exception {
	if f.spoilt {
		return nil
	}
	if f.outcome == onlyServerTakes {
		return excuseEach(f)
	}
	all := leftToServer()
	if i := slices.IndexFunc(all, func(e exception) bool { return e.holds(f) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// excuseEach looks for an exception for each problem that we have reported, and returns the first.
func excuseEach(f finding) (first *exception) {
	all := refusedOnPurpose()
	for _, p := range slices.Backward(f.problems) {
		alone := finding{trial: f.trial, problems: []schema.Problem{p}}
		i := slices.IndexFunc(all, func(e exception) bool { return e.holds(alone) })
		if i < 0 {
			return nil
		}
		first = &all[i]
	}
	return first
}

// refusedOnPurpose returns all that we reject although the API server accepts it. Each exception is asked about one problem.
func refusedOnPurpose() []exception {
	return []exception{
		{
			"null in a list or for an amount",
			"the API server makes an empty text, a 0 or an empty object of it, which nobody means by it; a CRD with a schema does not let it in",
			func(f finding) bool {
				return f.problems[0].Code == schema.TypeMismatch && f.problems[0].Found == "null"
			},
		},
		{
			"job whose name starts with a digit",
			"API servers before 1.36 refuse services of such a name, and a job is to run on all of them",
			func(f finding) bool {
				return f.problems[0].Path == "metadata.name" && f.name != "" && f.name[0] >= '0' && f.name[0] <= '9'
			},
		},
		{
			"power of ten with four digits and more in a quantity",
			"to parse it costs more than it can be worth, as each such amount is the highest or the lowest that there is",
			func(f finding) bool { return strings.HasPrefix(f.problems[0].Found, `"1e1000"`) },
		},
	}
}

// checked are the places of a pod that the API server alone must never reject: the converter checks them. A service counts as one
// such place, and so does anything that is not valid JSON of a pod.
var checked = regexp.MustCompile(`^(metadata\.(name|labels|annotations|finalizers(\[\])?)` +
	`|spec\.(restartPolicy|nodeSelector|serviceAccountName|activeDeadlineSeconds|dnsPolicy|hostname|subdomain|nodeName|ephemeralContainers)` +
	`|spec\.tolerations\[\]\.(key|effect)` +
	`|spec\.topologySpreadConstraints\[\]\.(maxSkew|topologyKey|whenUnsatisfiable)` +
	`|spec\.affinity\.(.*\.weight|.*\.topologyKey|nodeAffinity\..*\.(nodeSelectorTerms|operator))` +
	`|spec\.securityContext\.(runAsUser|runAsGroup|fsGroup|supplementalGroups\[\]|seccompProfile\.type|appArmorProfile\.type)` +
	`|spec\.volumes\[\]\.(` + checkedOfVolumes + `)` +
	`|spec\.(initContainers|containers)\[\](|\.(` + checkedOfContainers + `)))$`)

const (
	checkedOfVolumes = `name|persistentVolumeClaim\.claimName|emptyDir\.sizeLimit|hostPath\.type|nfs\.(server|path)` +
		`|(configMap|projected\.sources\[\]\.(configMap|secret))\.name|secret\.secretName` +
		`|(configMap|secret|downwardAPI|projected)\.defaultMode|.*(configMap|secret)\.items\[\]\.(key|mode)|.*downwardAPI\.mode` +
		`|projected\.sources\[\]\.serviceAccountToken\.expirationSeconds|ephemeral\.volumeClaimTemplate(\.spec)?`
	checkedOfContainers = `name|image|imagePullPolicy|terminationMessagePolicy|ports|ports\[\]\.(name|containerPort|protocol)` +
		`|env\[\]\.name|env\[\]\.valueFrom\.(configMapKeyRef|secretKeyRef)\.(name|key)|envFrom\[\]\.(configMapRef|secretRef)\.name` +
		`|volumeMounts|volumeMounts\[\]\.(name|mountPath|subPathExpr)|volumeMounts\.(subPath|subPathExpr)` +
		`|securityContext\.(runAsUser|runAsGroup|seccompProfile\.type|appArmorProfile\.type)` +
		`|(liveness|readiness|startup)Probe\.(initialDelay|timeout|period)Seconds|(liveness|readiness|startup)Probe\.failureThreshold` +
		`|((liveness|readiness|startup)Probe|lifecycle\.(postStart|preStop))\.(exec|httpGet|tcpSocket|grpc|exec\.command|httpGet\.(port|scheme)|(tcpSocket|grpc)\.port)`
)

// leftToServer returns what only the API server rejects: places of a pod (without indices) with rules that we do not repeat,
// because they are many and differ between its versions. FailedCreatePod events report these to the user. A place that is not
// listed here needs a decision.
func leftToServer() []exception {
	const rules = "rules of the API server that are not repeated"
	field := func(what, pattern string) exception {
		places := regexp.MustCompile(pattern)
		return exception{what, rules, func(f finding) bool {
			// A mount of a rejected volume is rejected too, so checked places may be among the causes.
			rest := slices.DeleteFunc(slices.Clone(f.causes()), func(c metav1.StatusCause) bool { return checked.MatchString(kindOf(c)) })
			return f.resource == "pods" && f.refusal.ErrStatus.Code == 422 && len(rest) > 0 &&
				!slices.ContainsFunc(rest, func(c metav1.StatusCause) bool { return !places.MatchString(kindOf(c)) })
		}}
	}
	return []exception{
		field("place", `^spec\.(affinity|topologySpreadConstraints|tolerations|schedulingGates|readinessGates|priorityClassName|schedulerName|preemptionPolicy)`),
		field("source of a volume", `^spec\.volumes`),
		field("probe or hook", `^spec\.(initContainers|containers)\[\]\.((liveness|readiness|startup)Probe|lifecycle)`),
		field("source of a variable", `^spec\.(initContainers|containers)\[\]\.env`),
		field("resources", `^spec\.((initContainers|containers)\[\]\.(resources|resizePolicy)|resources|resourceClaims|overhead)`),
		field("mount", `^spec\.(initContainers|containers)\[\]\.(volumeMounts|volumeDevices)`),
		field("security", `^spec\.(securityContext|(initContainers|containers)\[\]\.securityContext|os|imagePullSecrets)`),
		field("network", `^spec\.(dnsConfig|hostAliases|hostnameOverride|setHostname|(initContainers|containers)\[\]\.ports\[\]\.host)`),
		field("time limits", `^spec\.terminationGracePeriodSeconds`),
		field("other of a container", `^spec\.(initContainers|containers)\[\]\.(restartPolicy|stdin)`),
		field("several", `^spec`),
		{"admission", "what a cluster has of priority and runtime classes is not known to the converter", func(f finding) bool {
			return f.resource == "pods" && (f.refusal.ErrStatus.Code == 403 || f.refusal.ErrStatus.Code == 500)
		}},
	}
}

var anyItem = regexp.MustCompile(`\[[^\]]*\]`)

// kindOf returns the place of a cause, without indices and keys.
func kindOf(c metav1.StatusCause) string { return anyItem.ReplaceAllString(c.Field, "[]") }
