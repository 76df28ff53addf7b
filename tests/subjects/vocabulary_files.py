"""One small vocabulary in every form that is read: trees, of which one is deprecated, in two languages."""

from __future__ import annotations

import gzip
from pathlib import Path

BASE = "https://example.org/trees/"

TURTLE = f"""
@prefix : <{BASE}> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
:scheme a skos:ConceptScheme ; skos:prefLabel "Trees of the park"@en .
:group a skos:Collection ; skos:prefLabel "Favourites"@en ; skos:member :oak .
:tree a skos:Concept ; skos:prefLabel "Trees"@en, "Bäume"@de ; skos:notation "1" ; skos:narrower :oak .
:oak a skos:Concept ; skos:prefLabel "Oaks, English"@en, "Stieleiche"@de ; skos:notation "1.1" ;
  skos:altLabel "Quercus robur"@en, "pedunculate oak"@en-GB, "Deutsche Eiche"@de ; skos:hiddenLabel "englisch oak"@en .
:plane a skos:Concept ; skos:prefLabel "Planes (trees)"@en, "Platanen"@de ; skos:broader :tree .
:elm a skos:Concept ; skos:prefLabel "Elms"@en ; skos:broader :tree ; owl:deprecated true .
:ash a skos:Concept ; skos:prefLabel "Ashes"@en ; skos:broader :tree ; dcterms:isReplacedBy :oak .
:yew a skos:Concept ; skos:prefLabel "Yews"@en ; skos:historyNote "Deprecated (last used in version 2)"@en .
:linden a skos:Concept ; skos:prefLabel "Linden"@de ; skos:broader :tree .
"""

RDF_XML = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:xl="http://www.w3.org/2008/05/skos-xl#">
<skos:Concept rdf:about="{BASE}tree"><skos:prefLabel xml:lang="de">B\xe4ume</skos:prefLabel>
  <skos:prefLabel>Trees</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="{BASE}oak"><xl:prefLabel rdf:resource="{BASE}oak-label"/>
  <skos:broader rdf:resource="{BASE}tree"/></skos:Concept>
<xl:Label rdf:about="{BASE}oak-label"><xl:literalForm xml:lang="en">English oaks</xl:literalForm></xl:Label>
</rdf:RDF>
""".encode("iso-8859-1")

_SKOS = "http://www.w3.org/2004/02/skos/core#"
N_TRIPLES = f"""<{BASE}tree> <{_SKOS}prefLabel> "Trees"@en .
<{BASE}oak> <{_SKOS}prefLabel> "English oaks"@en .
<{BASE}oak> <{_SKOS}broader> <{BASE}tree> .
<{BASE}scheme> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{_SKOS}ConceptScheme> .
<{BASE}scheme> <{_SKOS}prefLabel> "Trees of the park"@en .
"""

ANNIF = f'<{BASE}tree>\tTrees\t1\n\n<{BASE}oak>\t"English" oaks\t1.1\r\n'
SYNONYMS = "T1\tTrees\t\nT2\tOaks, English\tQuercus robur|oak, pedunculate|\n"
NAMED = f"label\turi\tsynonyms\nTrees\t{BASE}tree\t\nEnglish oaks\t{BASE}oak\tQuercus robur|pedunculate oak\n"
TABLE = f"""uri;label_en;label_de;altLabel_en;notation;broader
{BASE}tree;Trees;Bäume;;1;
{BASE}oak;"English oaks; common";Stieleiche;Quercus robur|pedunculate oak;1.1;<{BASE}tree>
"""
JSON_LINES = f"""{{"uri": "{BASE}tree", "prefLabel": {{"en": "Trees", "de": "Bäume"}}}}
{{"uri": "{BASE}oak", "label": "English oaks", "altLabel": ["Quercus robur"], "broader": "{BASE}tree", "code": 7}}
"""
TAGS = "to read\n\n  field   notes \nto read\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """The file, compressed when its name says so."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path
