{{- define "webhookd.name" -}}
{{- if eq .Release.Name "webhookd" }}webhookd{{ else }}{{ printf "%s-webhookd" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end }}
{{- define "webhookd.selector" -}}
app.kubernetes.io/name: webhookd
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}
{{- define "webhookd.match" -}}
{ matchLabels: { app.kubernetes.io/name: webhookd, app.kubernetes.io/instance: {{ .Release.Name | quote }} } }
{{- end }}
{{- define "webhookd.labels" -}}
{{ include "webhookd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{/* The settings that the other objects depend on, and below them those of the values. */}}
{{- define "webhookd.settings" -}}
{{- $name := include "webhookd.name" . -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) -}}
{{- $server := dict "listen" "0.0.0.0:8420" "behind_proxy" true "allowed_hosts" (concat $hosts .Values.hosts) -}}
{{- $data := dict "dir" "/home/nonroot/data" -}}
{{- if gt (int .Values.nodes) 1 -}}{{- $_ := set $data "nodes" true -}}{{- end -}}
{{- if .Values.secretKey.name -}}{{- $_ := set $data "secret_key_file" "/run/secrets/webhookd/secret.key" -}}{{- end -}}
{{- range $name := keys .Values.secrets -}}
{{- if eq $name "data.store" -}}{{- $_ := set $data "store_file" "/run/secrets/webhookd/data.store" -}}{{- end -}}
{{- end -}}
{{- $settings := mergeOverwrite (deepCopy .Values.settings) (dict "server" $server "data" $data) -}}
{{- range $name := keys .Values.secrets | sortAlpha -}}
{{- $parts := splitList "." $name -}}
{{- $section := get $settings (first $parts) | default dict -}}
{{- $_ := set $section (printf "%s_file" (last $parts)) (printf "/run/secrets/webhookd/%s" $name) -}}
{{- $_ := set $settings (first $parts) $section -}}
{{- end -}}
{{- range $section := keys $settings | sortAlpha }}
[{{ $section }}]
{{- $values := get $settings $section }}
{{- range $key := keys $values | sortAlpha }}
{{ $key }} = {{ get $values $key | toJson }}
{{- end }}
{{ end -}}
{{- with .Values.moreSettings }}
{{ . }}
{{- end }}
{{- end }}
{{- define "webhookd.pod" -}}
{{- $isOne := eq (int .Values.nodes) 1 -}}
metadata:
  labels: {{- include "webhookd.labels" . | nindent 4 }}
  annotations:
    # A changed setting restarts the pods.
    webhookd/settings: {{ include "webhookd.settings" . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  # preStop takes 5 s, and attempts in flight get up to 15 s.
  terminationGracePeriodSeconds: 30
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    # The modes of the files in the volume are left alone.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- if not $isOne }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {{ include "webhookd.match" . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: webhookd
      image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/webhookd/webhookd.toml]
      env:
        # The commands in the pod find the daemon by it.
        - { name: WEBHOOKD_DATA_DIR, value: /home/nonroot/data }
      ports:
        - { name: http, containerPort: 8420 }
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      # A start may migrate the store, or repair it, so it has ten minutes.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 300
      # Not 200 while it drains, its disk is full or PostgreSQL is out of reach: no requests, and no restart.
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
      # 200 for as long as the process answers: a restart would help against nothing else.
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- if not $isOne }}
      lifecycle:
        # Load balancers forget the pod before it closes its port. On SIGTERM it then hands its endpoints to the others.
        preStop: { sleep: { seconds: 5 } }
      {{- end }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: settings, mountPath: /etc/webhookd, readOnly: true }
        - { name: data, mountPath: /home/nonroot }
        {{- if or .Values.secrets .Values.secretKey.name }}
        - { name: secrets, mountPath: /run/secrets/webhookd, readOnly: true }
        {{- end }}
  volumes:
    - name: settings
      configMap: { name: {{ include "webhookd.name" . }} }
    {{- if not $isOne }}
    # The socket and the lock. Everything else is in PostgreSQL.
    - { name: data, emptyDir: {} }
    {{- end }}
    {{- if or .Values.secrets .Values.secretKey.name }}
    - name: secrets
      projected:
        # Readable for the group of the daemon's user, and for nobody else.
        defaultMode: 0440
        sources:
          {{- range $name := keys .Values.secrets | sortAlpha }}
          {{- with get $.Values.secrets $name }}
          - secret: { name: {{ .name }}, items: [{ key: {{ .key }}, path: {{ $name }} }] }
          {{- end }}
          {{- end }}
          {{- with .Values.secretKey }}{{ if .name }}
          - secret: { name: {{ .name }}, items: [{ key: {{ .key }}, path: secret.key }] }
          {{- end }}{{ end }}
    {{- end }}
{{- end }}
