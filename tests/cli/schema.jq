# SPDX-License-Identifier: GPL-2.0-or-later
# jq -n --slurpfile schema S --slurpfile data D -f schema.jq: a line for each place where D does
# not keep to the JSON schema S. Knows what docs/*.schema.json use; what it does not know is said.
$schema[0] as $root
| def kinds: if type == "number" and . == floor then ["integer", "number"] else [type] end;
  def known: ["$schema", "$id", "$defs", "$ref", "title", "description", "type", "enum", "const",
	"anyOf", "oneOf", "required", "properties", "additionalProperties", "items", "minItems",
	"maxItems", "minimum", "maximum", "pattern", "prefixItems"];
  def check($s; $at):
	. as $v
	| if ($s | type) == "boolean" then
		if $s then empty else "\($at): not allowed" end
	  elif $s["$ref"] then
		check($root | getpath($s["$ref"] | ltrimstr("#/") | split("/")); $at)
	  else
		(($s | keys) - known | .[] | "\($at): schema word \(.)"),
		(if $s | has("type") then
			($s.type | if type == "array" then . else [.] end) as $wanted
			| if $v | kinds - (kinds - $wanted) == [] then "\($at): \($v | type), wanted \($wanted)" else empty end
		 else empty end),
		(if ($s | has("enum")) and ($s.enum | any(. == $v) | not) then "\($at): \($v)" else empty end),
		(if ($s | has("const")) and $s.const != $v then "\($at): \($v)" else empty end),
		(($s.anyOf // $s.oneOf) as $any
		 | if $any and all($any[]; . as $o | [$v | check($o; $at)] != []) then "\($at): fits none" else empty end),
		(if ($v | type) == "number" and ($s.minimum != null and $v < $s.minimum
			or $s.maximum != null and $v > $s.maximum) then "\($at): \($v) is out of range" else empty end),
		(if ($v | type) == "string" and $s.pattern and ($v | test($s.pattern) | not) then "\($at): \($v)" else empty end),
		(if ($v | type) == "object" then
			($s.required // [] | .[] | select(. as $k | $v | has($k) | not) | "\($at): no \(.)"),
			($v | keys[] | . as $k | $v[$k]
			 | check(if $s.properties // {} | has($k) then $s.properties[$k]
				 elif $s | has("additionalProperties") then $s.additionalProperties
				 else true end; "\($at).\($k)"))
		 elif ($v | type) == "array" then
			(if $s.minItems and ($v | length) < $s.minItems
				or $s.maxItems and ($v | length) > $s.maxItems then "\($at): length \($v | length)" else empty end),
			($v | to_entries[] | .key as $i | .value
			 | check($s.prefixItems[$i]? // $s.items // true; "\($at)[\($i)]"))
		 else empty end)
	  end;
  $data[0] | check($root; "")
