{{- define "countersign.name" -}}
{{- if contains "countersign" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-countersign" (.Release.Name | trunc 40 | trimSuffix "-") }}
{{- end -}}
{{- end -}}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* Metadata of an object. Input: the root, and a suffix of the name. */ -}}
{{- define "countersign.metadata" -}}
name: {{ include "countersign.name" .root }}{{ .suffix }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "countersign.selector" .root | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "countersign.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "countersign.host" -}}
{{ (urlParse .Values.settings.public_url).hostname }}
{{- end -}}

{{- /* "true" with PostgreSQL, and empty with SQLite. */ -}}
{{- define "countersign.isPostgres" -}}
{{- if has "database_url" .Values.secret.settings -}}true{{- end -}}
{{- end -}}

{{- /* shutdown_grace in seconds. The schema allows only a number with s, m or h. */ -}}
{{- define "countersign.graceSeconds" -}}
{{- $grace := .Values.settings.shutdown_grace | default "10s" -}}
{{- $units := dict "s" 1 "m" 60 "h" 3600 -}}
{{- $unit := regexFind "[smh]$" $grace -}}
{{ mul (regexFind "^[0-9]+" $grace | int64) (get $units $unit) }}
{{- end -}}

{{- /* A value as the text of a variable. Helm reads 1048576 as a floating point number. */ -}}
{{- define "countersign.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{- /* Rules for several values together, which a schema cannot explain. */ -}}
{{- define "countersign.check" -}}
{{- $isPostgres := include "countersign.isPostgres" . -}}
{{- if not $isPostgres -}}
{{- if .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled needs PostgreSQL. Add database_url to secret.settings, or disable autoscaling." -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- fail (printf "replicas: %d needs PostgreSQL. Add database_url to secret.settings, or set replicas to 1." (int .Values.replicas)) -}}
{{- end -}}
{{- end -}}
{{- if and $isPostgres (not (has "secret_key" .Values.secret.settings)) -}}
{{- fail "With PostgreSQL, every replica needs the same secret key. Add secret_key to secret.settings." -}}
{{- end -}}
{{- if and .Values.secret.settings (not .Values.secret.name) -}}
{{- fail (printf "secret.name is empty. Set it to the Secret with the keys %s." (join ", " .Values.secret.settings)) -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (lt (int .Values.autoscaling.maxReplicas) (int .Values.replicas)) -}}
{{- fail (printf "autoscaling.maxReplicas: %d is less than replicas: %d. Increase it." (int .Values.autoscaling.maxReplicas) (int .Values.replicas)) -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty. Set it to the Gateway that receives the requests." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.from) -}}
{{- fail "networkPolicy.from is empty, so no client could connect. Set it to the namespaces of your ingress or gateway, and of Prometheus." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled $isPostgres (not .Values.networkPolicy.database.to) -}}
{{- fail "networkPolicy.database.to is empty, so the server could not connect to PostgreSQL. Set it to the address or the pods of the database." -}}
{{- end -}}
{{- end -}}
