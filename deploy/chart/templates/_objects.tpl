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
