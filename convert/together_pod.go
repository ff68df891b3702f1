package convert

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
)

// Constraints of pods between fields of several objects. The walk has reported values of a wrong type, and these functions pass over
// them.

// eachContainer calls check for each container and init container of a pod, at its path.
func (r *Reader) eachContainer(pod map[string]any, check func(container map[string]any)) {
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := pod[key].([]any)
		r.Enter(key)
		for i, item := range list {
			if container, ok := item.(map[string]any); ok {
				r.EnterItem(i)
				check(container)
				r.Leave()
			}
		}
		r.Leave()
	}
}

// podResources allows a pod itself only what is shared by its containers: processors, memory and huge pages, and no devices.
func podResources(r *Reader, pod map[string]any) {
	resources, _ := pod["resources"].(map[string]any)
	r.Enter("resources")
	defer r.Leave()
	for _, kind := range []string{"limits", "requests"} {
		amounts, _ := resources[kind].(map[string]any)
		r.Enter(kind)
		for name := range amounts {
			if name == "ephemeral-storage" || strings.Contains(name, "/") {
				r.ProblemIn(name, schema.MisplacedField, "a resource that pods do not share", "be in a container", "move it into `resources` of the container that uses it")
			}
		}
		r.Leave()
	}
}

// hugePages asks for processors or memory beside huge pages.
func hugePages(r *Reader, resources map[string]any) {
	huge, usual := "", false
	for _, kind := range []string{"limits", "requests"} {
		amounts, _ := resources[kind].(map[string]any)
		usual = usual || amounts["cpu"] != nil || amounts["memory"] != nil
		for name := range amounts {
			if strings.HasPrefix(name, "hugepages-") {
				huge = kind
			}
		}
	}
	if huge != "" && !usual {
		r.ProblemIn(huge, schema.MissingField, "huge pages alone", "have cpu or memory, too", "")
	}
}

// claimedResources checks that containers use resource claims that the pod has, each once.
func claimedResources(r *Reader, pod map[string]any) {
	claims, ok := pod["resourceClaims"].([]any)
	if !ok && pod["resourceClaims"] != nil {
		return
	}
	names := map[string]bool{}
	for _, item := range claims {
		claim, _ := item.(map[string]any)
		name, _ := claim["name"].(string)
		names[name] = true
	}
	r.eachContainer(pod, func(container map[string]any) {
		resources, _ := container["resources"].(map[string]any)
		used, _ := resources["claims"].([]any)
		r.Enter("resources")
		r.Enter("claims")
		for i, item := range used {
			claim, _ := item.(map[string]any)
			if name, _ := claim["name"].(string); name != "" && !names[name] {
				r.EnterItem(i)
				r.ProblemIn("name", schema.InvalidValue, r.quoted(name), "be one of the pod's `resourceClaims`", "")
				r.Leave()
			}
		}
		r.Leave()
		r.Leave()
	})
}

// ofField matches paths of fields that a variable, and those that a file can have.
var (
	inVariable = regexp.MustCompile(`^(metadata\.(name|namespace|uid)|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs))$`)
	inFile     = regexp.MustCompile(`^metadata\.(name|namespace|uid|labels|annotations)$`)
	inMap      = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.*)'\]$`)
)

func fieldOfVariable(r *Reader, source map[string]any) {
	r.fieldPath(source, inVariable, `such as "metadata.name", "spec.nodeName", "status.podIP" or "metadata.labels['app']"`)
}

func fieldOfFile(r *Reader, file map[string]any) {
	if ref, ok := file["resourceFieldRef"].(map[string]any); ok && absent(ref["containerName"]) {
		r.Enter("resourceFieldRef")
		r.ProblemIn("containerName", schema.MissingField, "", "be set", "a file is of no container")
		r.Leave()
	}
	r.fieldPath(file, inFile, `such as "metadata.name", "metadata.labels" or "metadata.labels['app']"`)
}

func (r *Reader) fieldPath(holder map[string]any, whole *regexp.Regexp, examples string) {
	ref, _ := holder["fieldRef"].(map[string]any)
	path, _ := ref["fieldPath"].(string)
	if path == "" {
		return // reported if there is a fieldRef
	}
	r.Enter("fieldRef")
	defer r.Leave()
	if version, _ := ref["apiVersion"].(string); version != "" && version != "v1" {
		r.ProblemIn("apiVersion", schema.InvalidValue, r.quoted(version), `be "v1"`, "")
	}
	if part := inMap.FindStringSubmatch(path); part != nil {
		if key := part[2]; part[1] == "labels" && !qualifiedName(key) || part[1] == "annotations" && !qualifiedName(strings.ToLower(key)) {
			r.ProblemIn("fieldPath", schema.InvalidName, r.quoted(path), "have a key that is "+strings.TrimPrefix(wantLabelKey, "be "), "")
		}
		return
	}
	if !whole.MatchString(path) {
		r.ProblemIn("fieldPath", schema.InvalidValue, r.quoted(path), "be a field of the pod, "+examples, "")
	}
}

var containerResource = regexp.MustCompile(`^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$`)

// resourceField checks the name of a resource and its divisor.
func resourceField(r *Reader, ref map[string]any) {
	resource, _ := ref["resource"].(string)
	if resource == "" {
		return // reported as missing
	}
	part := containerResource.FindStringSubmatch(resource)
	if part == nil {
		r.ProblemIn("resource", schema.InvalidValue, r.quoted(resource), `be a resource of the container, such as "limits.cpu" or "requests.memory"`, "")
		return
	}
	divisor, ok := Written(ref["divisor"])
	allowed := []string{"0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	if part[2] == "cpu" {
		allowed = []string{"0", "1", "1m"}
	}
	if _, quantity := schema.ParseQuantity(divisor); ok && quantity && !slices.Contains(allowed, divisor) {
		r.ProblemIn("divisor", schema.InvalidValue, r.quoted(divisor), OneOf(allowed[1:]), "")
	}
}

// hostPorts checks that ports of a host are used once, and are the container's where it has the network of the host.
func hostPorts(r *Reader, pod map[string]any) {
	taken := map[string]bool{}
	r.eachContainer(pod, func(container map[string]any) {
		ports, _ := container["ports"].([]any)
		r.Enter("ports")
		for i, item := range ports {
			port, _ := item.(map[string]any)
			r.EnterItem(i)
			r.hostPort(port, pod["hostNetwork"] == true, taken)
			r.Leave()
		}
		r.Leave()
	})
}

func (r *Reader) hostPort(port map[string]any, ofHost bool, taken map[string]bool) {
	host, ok := numberOf(port["hostPort"])
	if n, whole := host.integer(); !ok || !whole || n == 0 {
		return
	}
	own, known := numberOf(port["containerPort"])
	if ofHost && known && own.String() != host.String() {
		r.ProblemIn("hostPort", schema.InvalidValue, "number "+host.String(), "be the containerPort, "+own.String()+", as the pod has `hostNetwork`", "leave it out")
	}
	protocol, _ := port["protocol"].(string)
	if protocol == "" {
		protocol = "TCP"
	}
	address, _ := port["hostIP"].(string)
	key := protocol + "/" + address + "/" + host.String()
	if taken[key] {
		r.ProblemIn("hostPort", schema.DuplicateName, "number "+host.String(), "be used by one port of the pod only", "")
	}
	taken[key] = true
}

// privileges reports a container that must not gain privileges which it has.
func privileges(r *Reader, context map[string]any) {
	if context["allowPrivilegeEscalation"] != false {
		return
	}
	capabilities, _ := context["capabilities"].(map[string]any)
	added, _ := capabilities["add"].([]any)
	switch {
	case context["privileged"] == true:
		r.ProblemIn("allowPrivilegeEscalation", schema.Conflict, "`false` beside `privileged: true`", "be left out", "")
	case slices.Contains(added, any("CAP_SYS_ADMIN")):
		r.ProblemIn("allowPrivilegeEscalation", schema.Conflict, "`false` beside the capability CAP_SYS_ADMIN", "be left out", "")
	}
}

// kernelSettings checks the names of sysctls, each of which may be set once.
func kernelSettings(r *Reader, context map[string]any) {
	list, _ := context["sysctls"].([]any)
	seen := map[string]bool{}
	r.Enter("sysctls")
	defer r.Leave()
	for i, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		r.EnterItem(i)
		switch {
		case name == "": // reported as missing
		case len(name) > 253 || !sysctlName.MatchString(name):
			r.ProblemIn("name", schema.InvalidName, r.quoted(name), `be the name of a sysctl, such as "net.core.somaxconn"`, "")
		case seen[name]:
			r.ProblemIn("name", schema.DuplicateName, r.quoted(name), "be in the list once", "")
		}
		seen[name] = true
		r.Leave()
	}
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// namespacesOfHost reports what a pod cannot have together with a namespace of its host.
func namespacesOfHost(r *Reader, pod map[string]any) {
	r.settingsOfHost(pod)
	if pod["shareProcessNamespace"] == true && pod["hostPID"] == true {
		r.ProblemIn("shareProcessNamespace", schema.Conflict, "`shareProcessNamespace` beside `hostPID`", "be the only one of the two", "remove one")
	}
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if pod["hostUsers"] == false && pod[key] == true {
			r.ProblemIn("hostUsers", schema.Conflict, "`hostUsers: false` beside `"+key+"`", "be left out", "")
		}
	}
}

// settingsOfHost reports sysctls of a namespace that is the host's.
func (r *Reader) settingsOfHost(pod map[string]any) {
	context, _ := pod["securityContext"].(map[string]any)
	list, _ := context["sysctls"].([]any)
	r.Enter("securityContext")
	r.Enter("sysctls")
	for i, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		name = strings.ReplaceAll(name, "/", ".")
		ofIPC := slices.ContainsFunc([]string{"kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		r.EnterItem(i)
		switch {
		case pod["hostNetwork"] == true && strings.HasPrefix(name, "net."):
			r.ProblemIn("name", schema.Conflict, r.quoted(name)+" beside `hostNetwork`", "be left out", "it would change the host")
		case pod["hostIPC"] == true && ofIPC:
			r.ProblemIn("name", schema.Conflict, r.quoted(name)+" beside `hostIPC`", "be left out", "it would change the host")
		}
		r.Leave()
	}
	r.Leave()
	r.Leave()
}

// devices checks that block devices of containers are volumes that can be block devices.
func devices(r *Reader, pod map[string]any) {
	others := map[string]bool{}
	volumes, _ := pod["volumes"].([]any)
	for _, item := range volumes {
		volume, _ := item.(map[string]any)
		name, _ := volume["name"].(string)
		others[name] = volume["persistentVolumeClaim"] == nil && volume["ephemeral"] == nil
	}
	r.eachContainer(pod, func(container map[string]any) {
		list, _ := container["volumeDevices"].([]any)
		r.Enter("volumeDevices")
		for i, item := range list {
			device, _ := item.(map[string]any)
			if name, _ := device["name"].(string); others[name] {
				r.EnterItem(i)
				r.ProblemIn("name", schema.InvalidValue, r.quoted(name), "be a volume of a PersistentVolumeClaim", "other volumes belong in `volumeMounts`")
				r.Leave()
			}
		}
		r.Leave()
	})
}

// pauses checks that a container does not pause for longer at its end than the pod has.
func pauses(r *Reader, pod map[string]any) {
	grace := whole(30) // of a pod that does not say
	if given, ok := numberOf(pod["terminationGracePeriodSeconds"]); ok {
		grace = given
	}
	most, _ := grace.integer()
	r.eachContainer(pod, func(container map[string]any) {
		lifecycle, _ := container["lifecycle"].(map[string]any)
		handler, _ := lifecycle["preStop"].(map[string]any)
		sleep, _ := handler["sleep"].(map[string]any)
		if seconds, ok := numberOf(sleep["seconds"]); ok {
			if n, isWhole := seconds.integer(); isWhole && n > most {
				r.Enter("lifecycle")
				r.Enter("preStop")
				r.Enter("sleep")
				r.ProblemIn("seconds", schema.OutOfRange, "number "+seconds.String(), "be at most terminationGracePeriodSeconds, "+grace.String(), "")
				r.Leave()
				r.Leave()
				r.Leave()
			}
		}
	})
}

// matchFields checks a term of a node affinity: the only field that it can compare is the name of the node, with one value.
func matchFields(r *Reader, term map[string]any) {
	list, _ := term["matchFields"].([]any)
	r.Enter("matchFields")
	defer r.Leave()
	for i, item := range list {
		fields, _ := item.(map[string]any)
		if key, _ := fields["key"].(string); key != "" && key != "metadata.name" {
			r.EnterItem(i)
			r.ProblemIn("key", schema.InvalidValue, r.quoted(key), `be "metadata.name"`, "labels of nodes belong in `matchExpressions`")
			r.Leave()
		}
	}
}

// selectedLabels checks the labels that a selector asks for.
func selectedLabels(r *Reader, selector map[string]any) { r.labels(selector, "matchLabels") }

// affinityNamespaces checks the namespaces in which an affinity looks for pods.
func affinityNamespaces(r *Reader, term map[string]any) {
	list, _ := term["namespaces"].([]any)
	r.Enter("namespaces")
	defer r.Leave()
	for i, item := range list {
		if name, ok := item.(string); ok && !dnsLabel(name) {
			r.EnterItem(i)
			r.Problem(schema.InvalidName, r.quoted(name), wantLabel, SuggestName(name))
			r.Leave()
		}
	}
}

func spread(r *Reader, constraint map[string]any) {
	if constraint["minDomains"] != nil && constraint["whenUnsatisfiable"] == "ScheduleAnyway" {
		r.ProblemIn("minDomains", schema.Conflict, "`minDomains` beside `whenUnsatisfiable: ScheduleAnyway`", "be left out", "or write `whenUnsatisfiable: DoNotSchedule`")
	}
	if keys, _ := constraint["matchLabelKeys"].([]any); len(keys) > 0 && constraint["labelSelector"] == nil {
		r.ProblemIn("matchLabelKeys", schema.Conflict, "`matchLabelKeys` without `labelSelector`", "be left out", "or add a `labelSelector`")
	}
}

// probes checks what the kinds of probes of a container differ in.
func probes(r *Reader, container map[string]any) {
	for _, key := range []string{"livenessProbe", "startupProbe"} {
		probe, _ := container[key].(map[string]any)
		if threshold, ok := numberOf(probe["successThreshold"]); ok {
			if n, whole := threshold.integer(); whole && n > 1 {
				r.Enter(key)
				r.ProblemIn("successThreshold", schema.OutOfRange, "number "+threshold.String(), "be 1", "only a readinessProbe may have more")
				r.Leave()
			}
		}
	}
	if probe, _ := container["readinessProbe"].(map[string]any); probe["terminationGracePeriodSeconds"] != nil {
		r.Enter("readinessProbe")
		r.ProblemIn("terminationGracePeriodSeconds", schema.Conflict, "`terminationGracePeriodSeconds` of a readinessProbe", "be left out", "it does not end the container")
		r.Leave()
	}
}

// propagation checks what mounts of a container ask of it and of each other.
func propagation(r *Reader, container map[string]any) {
	context, _ := container["securityContext"].(map[string]any)
	mounts, _ := container["volumeMounts"].([]any)
	r.Enter("volumeMounts")
	defer r.Leave()
	for i, item := range mounts {
		mount, _ := item.(map[string]any)
		r.EnterItem(i)
		if mount["mountPropagation"] == "Bidirectional" && context["privileged"] != true {
			r.ProblemIn("mountPropagation", schema.InvalidValue, `"Bidirectional"`, "be left out of containers that are not privileged", "")
		}
		if mode := mount["recursiveReadOnly"]; (mode == "Enabled" || mode == "IfPossible") && mount["readOnly"] != true {
			r.ProblemIn("recursiveReadOnly", schema.Conflict, "`recursiveReadOnly` without `readOnly: true`", "be left out", "or write `readOnly: true`")
		}
		r.Leave()
	}
}

// initContainers reports what only containers that run beside the others can have.
func initContainers(r *Reader, pod map[string]any) {
	list, _ := pod["initContainers"].([]any)
	r.Enter("initContainers")
	defer r.Leave()
	for i, item := range list {
		container, _ := item.(map[string]any)
		if container["restartPolicy"] == "Always" {
			continue // it runs beside the others
		}
		r.EnterItem(i)
		for _, key := range []string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
			if container[key] != nil {
				r.ProblemIn(key, schema.Conflict, "`"+key+"` of an init container", "be left out", "or write `restartPolicy: Always` for a sidecar")
			}
		}
		r.Leave()
	}
}

// nameResolution checks the addresses and domains of a pod's resolver, and its aliases of hosts.
func nameResolution(r *Reader, pod map[string]any) {
	const servers, domains = 3, 32
	config, _ := pod["dnsConfig"].(map[string]any)
	r.Enter("dnsConfig")
	r.strings(config, "nameservers", servers, isAddress, schema.InvalidValue, `be an IP address such as "10.0.0.1"`)
	r.strings(config, "searches", domains, isSearchDomain, schema.InvalidName, wantSubdomain)
	r.Leave()
	aliases, _ := pod["hostAliases"].([]any)
	r.Enter("hostAliases")
	defer r.Leave()
	for i, item := range aliases {
		alias, _ := item.(map[string]any)
		r.EnterItem(i)
		if ip, _ := alias["ip"].(string); ip != "" && !isAddress(ip) {
			r.ProblemIn("ip", schema.InvalidValue, r.quoted(ip), `be an IP address such as "10.0.0.1"`, "")
		}
		r.strings(alias, "hostnames", len(aliases)+1<<20, dnsSubdomain, schema.InvalidName, wantSubdomain)
		r.Leave()
	}
}

// strings checks a list of texts, and how many there are.
func (r *Reader) strings(fields map[string]any, key string, most int, legal func(string) bool, code schema.Code, want string) {
	list, _ := fields[key].([]any)
	r.Enter(key)
	defer r.Leave()
	if len(list) > most {
		r.Problem(schema.OutOfRange, fmt.Sprintf("a list of %d", len(list)), fmt.Sprintf("have at most %d", most), "")
		return
	}
	for i, item := range list {
		if text, ok := item.(string); ok && !legal(text) {
			r.EnterItem(i)
			r.Problem(code, r.quoted(text), want, "")
			r.Leave()
		}
	}
}

func isAddress(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

func isSearchDomain(text string) bool {
	return text == "." || dnsSubdomain(strings.ReplaceAll(strings.TrimSuffix(text, "."), "_", "-"))
}

func httpHeader(r *Reader, header map[string]any) {
	if name, _ := header["name"].(string); name != "" && len(validation.IsHTTPHeaderName(name)) > 0 {
		r.ProblemIn("name", schema.InvalidName, r.quoted(name), `be letters, digits and "-"`, "")
	}
}

func backsteps(r *Reader, source map[string]any) {
	if path, _ := source["path"].(string); slices.Contains(strings.Split(path, "/"), "..") {
		r.ProblemIn("path", schema.InvalidValue, r.quoted(path), `not lead up by ".."`, "")
	}
}

func toleratedValue(r *Reader, fields map[string]any) {
	if value, _ := fields["value"].(string); (absent(fields["operator"]) || fields["operator"] == "Equal") && !labelValue(value) {
		r.ProblemIn("value", schema.InvalidValue, r.quoted(value), `be at most 63 letters, digits, "-", "_" and ".", as the value of a label`, "")
	}
}
