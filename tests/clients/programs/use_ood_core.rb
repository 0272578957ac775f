# Open OnDemand's ood_core: a job, one that fails, an array, one that is held, released and deleted. Arguments: slurm,
# pbspro or lsf; the clusters' YAML is the one of docs/clients.md.
require "json"
require "yaml"
require "ood_core"

config = YAML.safe_load(File.read(ARGV[1]))["v2"]["job"]
adapter = OodCore::Job::Factory.build(config)

def until_state(adapter, id, *states)
  150.times do
    state = adapter.status(id).state.to_s
    return state if states.include?(state)
    sleep 0.3
  end
  "waited too long"
end

def script(content, **more)
  OodCore::Job::Script.new(content: content, job_name: "own", wall_time: 120, queue_name: "default", workdir: Dir.pwd, **more)
end

good = adapter.submit(script("#!/bin/sh\necho hello\n", output_path: "#{Dir.pwd}/good.out"))
bad = adapter.submit(script("#!/bin/sh\nexit 3\n"))
array = adapter.submit(script("#!/bin/sh\nsleep 5\n", job_array_request: "1-2"))
long = adapter.submit(script("#!/bin/sh\nsleep 300\n", submit_as_hold: true))
found = { held: until_state(adapter, long, "queued_held", "queued"), array: adapter.info(array).tasks.length }
adapter.release(long)
found[:running] = until_state(adapter, long, "running")
found[:hosts] = adapter.info(long).allocated_nodes.map(&:name).length
found[:listed] = adapter.info_all.map(&:id).any? { |id| id.start_with?(long[/\d+/]) }
adapter.delete(long)
found[:ends] = [good, bad, long, array].map { |id| until_state(adapter, id, "completed") }
found[:said] = File.read("good.out").strip
found[:nodes] = adapter.cluster_info.total_nodes if ARGV[0] == "slurm"
puts JSON.generate(found)
