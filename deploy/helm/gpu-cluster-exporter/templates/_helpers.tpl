{{- define "exporter.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "exporter.fullname" -}}
{{- $name := include "exporter.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "exporter.selector" -}}
app.kubernetes.io/name: {{ include "exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "exporter.labels" -}}
{{ include "exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "exporter.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "exporter.config" -}}
{{- $config := dict -}}
{{- range $key, $value := .Values.config -}}
{{- if or $value (not (has $key (list "scp" "nsml"))) -}}
{{- $_ := set $config $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* What a ServiceMonitor and a PodMonitor have in common: the first argument is the chart's, the second its values. */}}
{{- define "exporter.endpoint" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
port: metrics
interval: {{ $monitor.interval }}
scrapeTimeout: {{ $monitor.scrapeTimeout }}
scheme: {{ $root.Values.webConfig.scheme }}
honorLabels: true # environment and region are the exporter's own labels
relabelings:
  - targetLabel: job # the rules know it by this name
    replacement: gpu-cluster-exporter
  {{- with $monitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $monitor.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "exporter.healthcheck" -}}
- gpu-cluster-exporter
- healthcheck
- --url={{ .Values.webConfig.scheme }}://{{ eq .Values.webConfig.scheme "https" | ternary "localhost" "127.0.0.1" }}:10110
{{- range .Values.webConfig.probeArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
