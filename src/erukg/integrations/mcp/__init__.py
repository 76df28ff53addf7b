"""The MCP server behind `erukg mcp`: keyphrases as tools of an agent, over files that the server reads itself."""
