{{/*
The objects of a file, one list for `range`. The files are those of `kubectl apply -k`, so that both install the same.
*/}}
{{- define "hpcbatch.objects" -}}
{{- $objects := list -}}
{{- range $text := regexSplit "(?m)^---\\s*$" (required (printf "the chart lacks %s" .path) (.root.Files.Get .path)) -1 -}}
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
