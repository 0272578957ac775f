{{/*
The objects of a file, one list for `range`. The files are those of `kubectl apply -k`, so that both install the same.
For a shard's controllers the component is another one, so that no selector takes them for those without a shard.
*/}}
{{- define "hpcbatch.objects" -}}
{{- $objects := list -}}
{{- $file := required (printf "the chart lacks %s" .path) (.root.Files.Get .path) -}}
{{- with .shard -}}
{{- $file = regexReplaceAll "(?m)(app.kubernetes.io/component: controller)$" $file (printf "${1}-%s" .) -}}
{{- end -}}
{{- range $text := regexSplit "(?m)^---\\s*$" $file -1 -}}
{{- with fromYaml $text -}}{{- $objects = append $objects . -}}{{- end -}}
{{- end -}}
{{- dict "items" $objects | toYaml -}}
{{- end -}}
{{/*
What a kustomize patch adds to the rules of a role, one list.
*/}}
{{- define "hpcbatch.added" -}}
{{- $rules := list -}}
{{- range $step := required (printf "the chart lacks %s" .path) (.root.Files.Get .path) | fromYamlArray -}}
{{- if ne (printf "%s %s" $step.op $step.path) "add /rules/-" -}}{{- fail (printf "%s: %s %s" $.path $step.op $step.path) -}}{{- end -}}
{{- $rules = append $rules $step.value -}}
{{- end -}}
{{- dict "items" $rules | toYaml -}}
{{- end -}}
