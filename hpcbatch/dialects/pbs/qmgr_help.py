"""qmgr's help."""

from __future__ import annotations

from collections.abc import Mapping

_GENERAL = """\
A request is: command object [name[@server],...] [attribute[.resource] OP value,...]
Commands and objects may be cut short. Requests end at a line's end or at `;`.
Commands:
  active   the objects that requests without a name are for
  create   make a queue or a resource
  delete   remove a queue
  set      give an attribute a value
  unset    take it away
  list     show objects with their attributes
  print    show them as requests that make them
  quit     end; so does exit
Objects: server, queue, node, resource, sched, hook.
`help TOPIC` says more: any command, attributes, operators, names, values.
"""
_TOPICS: Mapping[str, str] = {
    "active": "active OBJECT [NAME,...]: without a name it shows those that are active.\n",
    "create": "create queue NAME [queue_type=Execution|Route,enabled=True,started=True]: a Volcano Queue.\n"
    "Where site.yaml names the queues, it is changed instead.\n"
    "create resource NAME [type=long|string|boolean,flag=q|h].\n",
    "delete": "delete queue NAME: an empty one.\ndelete resource NAME: one that no job asks for.\n",
    "set": 'set queue NAME enabled=False | started=False\nset node NAME state=offline | state=free | comment="text"\n'
    "set server resources_available.NAME = N; set node NAME resources_available.NAME = VALUE\n",
    "unset": "unset queue NAME enabled | started\nunset node NAME comment\n",
    "list": "list OBJECT [NAME,...] [ATTRIBUTE,...]: `list queue @default` shows all.\n",
    "print": "print OBJECT [NAME,...] [ATTRIBUTE,...]: `print server` has the queues, too.\n",
    "import": "There are no hooks.\n",
    "export": "There are no hooks.\n",
    "quit": "quit: end qmgr.\n",
    "exit": "exit: end qmgr.\n",
    "operator": "=  sets, += adds, -= takes away. Of what can be set here only a node's state takes the last two.\n",
    "value": "True or False, a text; with blanks or commas in it in quotes.\n",
    "name": "NAME, NAME@SERVER, or @SERVER for all objects. The server may be `default` or `active`.\n",
    "attribute": "`list` shows those of an object. What is set here: enabled and started of queues,\n"
    "state and comment of nodes. Limits of queues are set in site.yaml.\n",
}


def help_on(topic: str) -> str:
    """A topic may be written longer: `operators`."""
    if not topic:
        return _GENERAL + "\n"
    found = next((text for name, text in _TOPICS.items() if topic.startswith(name)), None)
    return (found or f"No help available on: {topic}\nCheck the PBS Reference Guide for more help.\n") + "\n"
