{{- /* The release's name, with the chart's unless that is in it already. */ -}}
{{- define "footfall.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* What finds the pods; it must never change, so no version is in it. */ -}}
{{- define "footfall.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "footfall.metadata" -}}
name: {{ include "footfall.name" . }}
{{ include "footfall.labels" . }}
{{- end -}}

{{- define "footfall.labels" -}}
labels:
  {{- include "footfall.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* A setting's value as text: 10000000 would be 1e+07 otherwise. */ -}}
{{- define "footfall.text" -}}
{{- if kindIs "string" . -}}{{ . | quote }}{{- else -}}{{ . | toJson | quote }}{{- end -}}
{{- end -}}
