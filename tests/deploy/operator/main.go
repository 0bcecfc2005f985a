// Reads Kubernetes objects of the Prometheus Operator from standard input, one YAML document after the
// other, by the operator's own types: an unknown key or a wrong type is an error.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"Prometheus":     func() any { return new(monitoring.Prometheus) },
	"PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
	"ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
	"PodMonitor":     func() any { return new(monitoring.PodMonitor) },
}

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	for number, document := range bytes.Split(input, []byte("\n---\n")) {
		if err := check(document); err != nil {
			fail(fmt.Errorf("document %d: %w", number+1, err))
		}
	}
}

func check(document []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(document, &head); err != nil {
		return err
	}
	made := kinds[head.Kind]
	if head.APIVersion != "monitoring.coreos.com/v1" || made == nil {
		return fmt.Errorf("no kind of the operator's: %s %s", head.APIVersion, head.Kind)
	}
	return yaml.UnmarshalStrict(document, made())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
